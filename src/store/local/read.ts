/** Reads at any revision that history still holds, from a consistent view of the tables. */
import {
  type Entry,
  type GetAnswer,
  type RangeAnswer,
  type RangeOptions,
  StoreError,
} from "#store/contract.ts";
import { toEntry } from "./decide-write.ts";
import { type Change, type Head, revisionOf, type Tombstone, type View } from "./engine.ts";

export function readKey(view: View, key: string, atRevision: number | undefined): GetAnswer {
  const revision = checkRevision(view, atRevision);
  const position = view.keys.head(key)?.position ?? view.keys.tombstone(key);
  const change = changeAt(view, position, revision);
  return { revision, entry: change && toEntry(change) };
}

/** Of a key that is only counted, beside one whose value is read. */
const COUNTED_KEY_COST = 1 / 32;

/**
 * Yields after each `keysPerTurn` keys (many more where they are only counted), so that the caller can let
 * other work run. The view must be held meanwhile.
 */
export function* readRange(
  view: View,
  prefix: string,
  options: RangeOptions,
  keysPerTurn: number,
): Generator<void, RangeAnswer> {
  const { limit = Number.POSITIVE_INFINITY, startAfter, keysOnly = false, packed } = options;
  const revision = checkRevision(view, options.atRevision);
  const newest = revision === view.state.revision;
  const entries: Entry[] = [];
  let remaining = 0;
  let cost = 0;
  for (const head of newest
    ? view.keys.heads(prefix, startAfter)
    : keysEver(view, prefix, startAfter)) {
    if (newest && entries.length >= limit) {
      remaining = view.keys.countHeads(prefix, entries.at(-1)?.key ?? startAfter);
      break;
    }
    if (cost >= keysPerTurn) {
      cost = 0;
      yield;
    }
    if (entries.length >= limit && isUnchangedSince(head, revision)) {
      remaining += 1;
      cost += COUNTED_KEY_COST;
      continue;
    }
    const values = keysOnly || entries.length >= limit ? "none" : packed ? "packed" : "own memory";
    const entry = entryOf(view, head, revision, values);
    if (entry !== undefined && entries.length < limit) entries.push(entry);
    else if (entry !== undefined) remaining += 1;
    cost += 1;
  }
  return { revision, entries, remaining };
}

export function countKeys(view: View, prefix: string, atRevision: number | undefined): number {
  const revision = checkRevision(view, atRevision);
  if (revision === view.state.revision) return view.keys.countHeads(prefix);
  let count = 0;
  for (const { position } of keysEver(view, prefix, undefined)) {
    if (changeAt(view, position, revision) !== undefined) count += 1;
  }
  return count;
}

/** The revision to read at: the newest unless another is asked for and can be had. */
function checkRevision({ state }: View, atRevision: number | undefined): number {
  if (atRevision === undefined) return state.revision;
  if (atRevision > state.revision) {
    throw new StoreError(
      { code: "FutureRevision", currentRevision: state.revision },
      `revision ${atRevision} does not exist yet; the newest is ${state.revision}`,
    );
  }
  if (atRevision < state.compactRevision) throw compacted(atRevision, state.compactRevision);
  return atRevision;
}

export function compacted(revision: number, compactRevision: number): StoreError {
  return new StoreError(
    { code: "Compacted", compactRevision },
    `revision ${revision} has been compacted; history begins at ${compactRevision}`,
  );
}

const NO_VALUE = new Uint8Array();

function entryOf(
  view: View,
  head: Head | Tombstone,
  revision: number,
  values: "none" | "packed" | "own memory",
): Entry | undefined {
  if (isUnchangedSince(head, revision)) {
    const { key, createRevision, version, position } = head;
    const value = values === "none" ? NO_VALUE : view.log.value(position, values === "packed");
    if (value === undefined) throw new Error(`the log lacks the change of ${key}`);
    return { key, value, createRevision, modRevision: revisionOf(position), version };
  }
  const change = changeAt(view, head.position, revision);
  if (change === undefined) return undefined;
  return values === "none" ? { ...toEntry(change), value: NO_VALUE } : toEntry(change);
}

function isUnchangedSince(head: Head | Tombstone, revision: number): head is Head {
  return "version" in head && revisionOf(head.position) <= revision;
}

/** Follows the chain from `position` back to the change that was in force at `revision`. */
function changeAt(view: View, position: number, revision: number): Change | undefined {
  let change = position === 0 ? undefined : view.log.change(position);
  while (change !== undefined && revisionOf(change.position) > revision) {
    change = change.previous === 0 ? undefined : view.log.change(change.previous);
  }
  return change?.deleted ? undefined : change;
}

/** Keys that exist and keys that did, merged in order. No key is in both tables. */
function* keysEver(
  view: View,
  prefix: string,
  after: string | undefined,
): Generator<Head | Tombstone, void> {
  const tombstones = view.keys.tombstones(prefix, after)[Symbol.iterator]();
  let tombstone = tombstones.next();
  for (const head of view.keys.heads(prefix, after)) {
    while (!tombstone.done && precedes(tombstone.value.key, head.key)) {
      yield tombstone.value;
      tombstone = tombstones.next();
    }
    yield head;
  }
  while (!tombstone.done) {
    yield tombstone.value;
    tombstone = tombstones.next();
  }
}

function precedes(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}
