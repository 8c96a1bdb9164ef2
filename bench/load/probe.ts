/**
 * Asks for one small object over and over, and says how long the slowest answer took, less the time for
 * which a processor was taken away from a virtual machine (steal): no program answers meanwhile.
 */
import { readFileSync } from "node:fs";
import type { Requester } from "./load.ts";
import { get } from "./pods.ts";

const PROBED = "/api/v1/namespaces/default";
const PAUSE_MS = 2;

export interface Probed {
  readonly count: number;
  readonly longestMs: number;
  /** When the slowest was sent, counted from the start of probing. */
  readonly atMs: number;
  /** Answers during which time was stolen. */
  readonly disturbed: number;
}

export async function probeFor(asker: Requester, windowMs: number): Promise<Probed> {
  const startMs = performance.now();
  let [count, longestMs, atMs, disturbed] = [0, 0, 0, 0];
  for (let sentMs = startMs; sentMs - startMs < windowMs; sentMs = performance.now()) {
    const before = stolenMs();
    await asker.ask(get(PROBED));
    const tookMs = performance.now() - sentMs;
    const stolen = Math.max(0, ...stolenMs().map((ms, cpu) => ms - (before[cpu] ?? ms)));
    if (tookMs - stolen > longestMs) [longestMs, atMs] = [tookMs - stolen, sentMs - startMs];
    if (stolen > 0) disturbed += 1;
    count += 1;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return { count, longestMs, atMs, disturbed };
}

/** Of each processor since the machine started, in steps of 10 ms. */
function stolenMs(): number[] {
  const lines = readFileSync("/proc/stat", "utf8").matchAll(/^cpu\d+ (?:\d+ ){7}(\d+)/gm);
  return [...lines].map(([, ticks]) => Number(ticks) * 10);
}
