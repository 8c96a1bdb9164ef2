/** Chooses the node on which preemption does the least harm. */
import { type Candidate, startMs } from "./victims.ts";

const PRIORITY_OFFSET = 2 ** 31;

/** In this order; the highest value wins, and the next rule decides between equals. */
const RULES: readonly ((candidate: Candidate, nowMs: number) => number)[] = [
  ({ violations }) => -violations,
  ({ victims }) => -victims[0]!.priority,
  ({ victims }) => -victims.reduce((sum, { priority }) => sum + priority + PRIORITY_OFFSET, 0),
  ({ victims }) => -victims.length,
  (candidate, nowMs) => earliestStartMs(candidate, nowMs),
];

export function pickCandidate(candidates: readonly Candidate[], nowMs: number): Candidate {
  let best = candidates;
  for (const rule of RULES) {
    if (best.length === 1) break;
    const values = best.map((candidate) => rule(candidate, nowMs));
    const highest = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    best = best.filter((_, index) => values[index] === highest);
  }
  return best[0]!;
}

/** When the first of the most important victims started. */
function earliestStartMs({ victims }: Candidate, nowMs: number): number {
  const highest = victims.reduce(
    (most, { priority }) => Math.max(most, priority),
    -PRIORITY_OFFSET,
  );
  const starts = victims
    .filter(({ priority }) => priority === highest)
    .map((victim) => startMs(victim, nowMs));
  return starts.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}
