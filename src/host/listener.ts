/** Which process listens on a TCP port of this machine, by /proc. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface Listener {
  readonly pid: number;
  /** Its command line, cut. */
  readonly command: string;
}

const LISTEN = "0A";
const COMMAND_LENGTH_MAX = 120;

/** Undefined if there is none, or if it belongs to a user whose processes cannot be seen. */
export function listenerOf(port: number): Listener | undefined {
  const inodes = new Set(["tcp", "tcp6"].flatMap((family) => listeningInodes(family, port)));
  if (inodes.size === 0) return undefined;
  for (const pid of numbersIn("/proc")) {
    for (const descriptor of numbersIn(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`))?.[1];
      if (inode !== undefined && inodes.has(inode)) return { pid, command: commandOf(pid) };
    }
  }
  return undefined;
}

function listeningInodes(family: string, port: number): string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  return textOf(`/proc/net/${family}`)
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => state === LISTEN && local.endsWith(`:${hexPort}`))
    .map((fields) => fields[9] ?? "");
}

function commandOf(pid: number): string {
  const words = textOf(`/proc/${pid}/cmdline`).split("\0").join(" ").trim();
  return (words || textOf(`/proc/${pid}/comm`).trim()).slice(0, COMMAND_LENGTH_MAX);
}

function numbersIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isSafeInteger);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
