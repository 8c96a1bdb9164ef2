/**
 * Identifies a process beyond its number, which the system gives to another process sooner or later,
 * and after a reboot at once. The identity can be written to a file and compared later.
 */
import { readFileSync } from "node:fs";
import { codeOf } from "#lib/caught.ts";

export interface ProcessIdentity {
  readonly pid: number;
  /** When the process began, in clock ticks since the machine did; "" where that is not known. */
  readonly startedTicks: string;
  /** Changes with each boot; "" where that is not known. */
  readonly bootId: string;
}

export function thisProcess(): ProcessIdentity {
  const { pid } = process;
  const startedTicks = processStatus(pid)?.startedTicks ?? "";
  return { pid, startedTicks, bootId: readIfThere("/proc/sys/kernel/random/boot_id").trim() };
}

/** Whether this very process runs. If it cannot be distinguished from another, it counts as alive. */
export function isAlive({ pid, startedTicks, bootId }: ProcessIdentity): boolean {
  if (bootId !== thisProcess().bootId) return false;
  const status = processStatus(pid);
  // There is no /proc, or it hides the processes of other users.
  if (startedTicks === "" || status === undefined) return answersSignals(pid);
  return !status.dead && status.startedTicks === startedTicks;
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
