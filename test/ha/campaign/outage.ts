/** What clients saw of a fault: the longest times without an acknowledged write. */
import type { HistoryRecord } from "./history.ts";

export interface Outage {
  /** Of the writer that waited longest. */
  readonly oneClientMs: number;
  /** During which no writer had a write acknowledged. */
  readonly allClientsMs: number;
}

/** Looks at the waits that overlap the time between the two. */
export function outageBetween(
  history: readonly HistoryRecord[],
  beginMs: number,
  endMs: number,
): Outage {
  const all: number[] = [];
  const byClient = new Map<string, number[]>();
  for (const one of history) {
    if (one.k !== "op" || one.outcome !== "ok" || one.verb === "read") continue;
    all.push(one.endMs);
    const own = byClient.get(one.client);
    if (own === undefined) byClient.set(one.client, [one.endMs]);
    else own.push(one.endMs);
  }
  const waits = [...byClient.values()].map((times) => longestWait(times, beginMs, endMs));
  return { oneClientMs: Math.max(0, ...waits), allClientsMs: longestWait(all, beginMs, endMs) };
}

function longestWait(timesMs: readonly number[], beginMs: number, endMs: number): number {
  let longest = 0;
  let last = beginMs;
  for (const atMs of timesMs.toSorted((a, b) => a - b)) {
    if (atMs > beginMs && last < endMs) longest = Math.max(longest, atMs - last);
    last = Math.max(last, atMs);
  }
  return longest;
}
