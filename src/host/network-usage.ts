/** Counters of network interfaces, as the kernel shows them for the network of a process. */
import type { ReadText } from "./small-files.ts";

export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** Loopback, and the node's ends of the links of pods, which count the same packets again. */
const IGNORED = /^(?:lo|veth|docker|nerdctl)/i;

/** Of the network namespace that the process is in; none if the process has ended. */
export async function readNetworkUsage(
  pid: number | "self",
  read: ReadText,
): Promise<readonly InterfaceUsage[]> {
  return parseNetDev((await read(`/proc/${pid}/net/dev`)) ?? "");
}

/** `text`: of a file `net/dev`, which begins with two lines of titles. */
export function parseNetDev(text: string): readonly InterfaceUsage[] {
  return text
    .split("\n")
    .slice(2)
    .flatMap((line) => {
      const at = line.indexOf(":");
      const name = line.slice(0, Math.max(0, at)).trim();
      if (name === "" || IGNORED.test(name)) return [];
      const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0, ...rest] = line
        .slice(at + 1)
        .trim()
        .split(/\s+/)
        .map(Number);
      const [, , , , txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = rest;
      return [
        {
          ...{ name, rxBytes, rxPackets, rxErrors, rxDropped },
          ...{ txBytes, txPackets, txErrors, txDropped },
        },
      ];
    });
}
