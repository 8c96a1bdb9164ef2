/**
 * Loaded into a program before it starts (`node --import`): notes the longest turn of the event loop of
 * its main thread by the processor time of that thread, garbage collection on it included. Processor
 * time says the same on a machine that has other work. SIGUSR2 begins anew; the figure is written to the file
 * LOOP_REPORT when the process ends.
 */
import { writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { threadCpuMs } from "./thread-cpu.ts";

let lastMs = 0;
let longestMs = 0;

if (isMainThread) {
  process.on("SIGUSR2", () => {
    longestMs = 0;
    lastMs = threadMs();
  });
  process.on("exit", () => writeFileSync(process.env.LOOP_REPORT ?? "/dev/null", `${longestMs}`));
  setImmediate(turn);
}

function turn(): void {
  longestMs = Math.max(longestMs, threadMs() - lastMs);
  lastMs = threadMs();
  setImmediate(turn);
}

function threadMs(): number {
  return threadCpuMs() ?? Number.NaN;
}
