/** Asks for one small object over and over, and says how long the slowest answer took. */
import type { Requester } from "./load.ts";
import { get } from "./pods.ts";

const PROBED = "/api/v1/namespaces/default";
const PAUSE_MS = 2;

export interface Probed {
  readonly count: number;
  readonly longestMs: number;
  /** When the slowest was sent, counted from the start of probing. */
  readonly atMs: number;
}

export async function probeFor(asker: Requester, windowMs: number): Promise<Probed> {
  const startMs = performance.now();
  let [count, longestMs, atMs] = [0, 0, 0];
  for (let sentMs = startMs; sentMs - startMs < windowMs; sentMs = performance.now()) {
    await asker.ask(get(PROBED));
    const tookMs = performance.now() - sentMs;
    if (tookMs > longestMs) [longestMs, atMs] = [tookMs, sentMs - startMs];
    count += 1;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return { count, longestMs, atMs };
}
