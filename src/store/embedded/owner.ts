/**
 * One process a data directory. The owner is written into the data itself, within a transaction of
 * LMDB, whose lock is shared by processes and survives their death: of two that come at once, one
 * wins. An owner that was killed is recognised by its process being gone, or by a reboot.
 */
import { readFileSync } from "node:fs";
import { codeOf } from "#lib/caught.ts";

export interface Owner {
  readonly pid: number;
  /** When the process began, in clock ticks since the machine did; "" where that is not known. */
  readonly startedTicks: string;
  /** Changes with each boot; "" where that is not known. */
  readonly bootId: string;
}

export function thisProcess(): Owner {
  const { pid } = process;
  const startedTicks = processStatus(pid)?.startedTicks ?? "";
  return { pid, startedTicks, bootId: readIfThere("/proc/sys/kernel/random/boot_id").trim() };
}

export function isAlive(owner: Owner): boolean {
  if (owner.bootId !== thisProcess().bootId) return false;
  if (owner.startedTicks === "") return answersSignals(owner.pid);
  const status = processStatus(owner.pid);
  return status !== undefined && !status.dead && status.startedTicks === owner.startedTicks;
}

interface ProcessStatus {
  readonly dead: boolean;
  readonly startedTicks: string;
}

/** Undefined if there is no such process, or no /proc. */
function processStatus(pid: number): ProcessStatus | undefined {
  const stat = readIfThere(`/proc/${pid}/stat`);
  // The name, in parentheses, may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, startedTicks] = [fields[0], fields[19]];
  if (state === undefined || startedTicks === undefined) return undefined;
  return { dead: state === "Z" || state === "X", startedTicks };
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
