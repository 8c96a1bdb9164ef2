/** What is kept of the past: which revisions there are, when they were committed, what they changed. */
import type { RevisionRecord } from "#store/contract.ts";
import { type Change, positionOf, revisionOf, type View } from "./engine.ts";

/** How many revisions one call returns at most. */
export const REVISIONS_MAX = 1_000;

/**
 * The newest revision that was committed at or before `timeMs`, found by bisection; the compacted
 * revision if that is older than all that is kept. Exact as long as the clock was never set back.
 */
export function revisionAt({ state, log }: View, timeMs: number): number {
  let known = state.compactRevision;
  let last = state.revision;
  while (known < last) {
    const middle = Math.ceil((known + last) / 2);
    const change = firstIn(log.changes(positionOf(middle, 0), positionOf(last + 1, 0)));
    if (change !== undefined && change.committedAtMs <= timeMs) known = revisionOf(change.position);
    else last = middle - 1;
  }
  return known;
}

/** Pauses by yielding between each `changesPerTurn` changes. The view must be held meanwhile. */
export function* readRevisions(
  { state, log }: View,
  fromRevision: number,
  limit: number,
  changesPerTurn: number,
): Generator<void, readonly RevisionRecord[]> {
  const first = Math.max(fromRevision, state.compactRevision + 1);
  const records: (RevisionRecord & { readonly keys: string[] })[] = [];
  let read = 0;
  for (const change of log.changes(positionOf(first, 0), positionOf(state.revision + 1, 0))) {
    const revision = revisionOf(change.position);
    const newest = records.at(-1);
    if (newest?.revision === revision) newest.keys.push(change.key);
    else if (records.length === Math.min(limit, REVISIONS_MAX)) break;
    else records.push({ revision, committedAtMs: change.committedAtMs, keys: [change.key] });
    read += 1;
    if (read % changesPerTurn === 0) yield;
  }
  return records;
}

function firstIn(changes: Iterable<Change>): Change | undefined {
  for (const change of changes) return change;
  return undefined;
}
