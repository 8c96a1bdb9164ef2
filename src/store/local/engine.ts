/**
 * What a local store keeps, and where. The rules of revisions live above this line (local-store.ts);
 * an engine only holds the tables, reads them consistently and replaces them atomically.
 *
 * - log:    position → Change. Every change that history still needs, in order.
 * - heads:  key → Head of the keys that exist now.
 * - tombstones: key → position of the newest deletion, for keys that do not exist now but did within
 *           the history that is kept.
 * - expiry: the heads that have a time to live, by the time they end.
 * - trail:  the changes that compaction has yet to sweep up after, oldest first.
 *
 * Only the log may be on disk. The others (key-index.ts) are in memory and follow from it.
 *
 * A position is a revision and the number of the operation within its transaction, as one integer.
 * Each change names the position it replaced, so the changes of one key form a chain that runs from
 * its head back through history. Example, with keys a and b:
 *
 *   revision 2: put a      log 256 {a, previous 0}                heads {a: 256}
 *   revision 3: put a, b   log 384 {a, previous 256}, 385 {b}     heads {a: 384, b: 385}
 *   revision 4: delete b   log 512 {b deleted, previous 385}      heads {a: 384}   tombstones {b: 512}
 *
 * Compacting to revision 4 drops what the changes up to 4 replaced (256, 385), and deletions
 * themselves (512 and its tombstone), because they are not visible at revision 4 or later. What a
 * deletion replaced goes no later than the deletion, so that a key never comes back to life.
 */
import { OPERATIONS_MAX } from "#store/contract.ts";
import type { KeyIndex } from "./key-index.ts";

export interface Head {
  readonly key: string;
  readonly position: number;
  readonly createRevision: number;
  readonly version: number;
  /** What the change costs, for deciding when history is too big. */
  readonly bytes: number;
  /** 0: never. */
  readonly expiresAtMs: number;
}

export interface Change extends Head {
  readonly value: Uint8Array;
  readonly deleted: boolean;
  /** The position of the change that this one replaced, a deletion included; 0 if none. */
  readonly previous: number;
  /** When its commit began, by the store's clock; 0 if it was restored from a snapshot. */
  readonly committedAtMs: number;
}

export interface State {
  readonly revision: number;
  readonly compactRevision: number;
  readonly liveBytes: number;
  readonly historyBytes: number;
}

export const EMPTY_STATE: State = {
  revision: 1,
  compactRevision: 0,
  liveBytes: 0,
  historyBytes: 0,
};

/** What a change costs beyond its key and value. */
const ROW_BYTES = 64;

export function costOf(key: string, valueBytes: number): number {
  return key.length + valueBytes + ROW_BYTES;
}

/** The tables as one commit left them. */
export interface View {
  readonly state: State;
  readonly keys: KeyIndex;
  readonly log: Log;
}

export interface Log {
  change(position: number): Change | undefined;
  /** Only the value of a change: cheaper where its head is known. `packed`: see RangeOptions. */
  value(position: number, packed?: boolean): Uint8Array | undefined;
  /** From `from` on, up to but without `to`. */
  changes(from: number, to: number): Iterable<Change>;
}

export interface Tombstone {
  readonly key: string;
  readonly position: number;
}

export interface Commit {
  readonly state: State;
  /** Carried out before the steps. */
  readonly sweep: Sweep;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly change: Change;
  /** The head that the change takes the place of. */
  readonly replaced: Head | undefined;
}

/** A change that made something obsolete: what it replaced, and itself if it is a deletion. */
export interface Track {
  readonly position: number;
  /** What it replaced; 0 if nothing, or if that is gone already. */
  readonly previous: number;
  readonly previousBytes: number;
  readonly deletedKey: string | undefined;
  /** Of the deletion itself. */
  readonly deletedBytes: number;
}

/** A row of the log that is not visible at any readable revision. */
export interface ObsoleteRow {
  readonly position: number;
  readonly bytes: number;
}

export interface Sweep {
  /** To be removed. */
  readonly rows: readonly ObsoleteRow[];
  /** So many of the first tracks of the trail are done with when the rows are gone. */
  readonly tracksDone: number;
}

export const NO_SWEEP: Sweep = { rows: [], tracksDone: 0 };

export interface Engine extends AsyncDisposable {
  /** The tables after the last commit. Valid until the next commit. */
  readonly view: View;
  /** The same, valid until disposed of. */
  hold(): View & Disposable;
  /** Whether waiting for more writes to share a commit with is worth a turn of the event loop. */
  readonly commitsTakeTime: boolean;
  /** All or nothing. Done on return unless it returns a promise; `view` changes when it is done. */
  commit(commit: Commit): Promise<void> | undefined;
}

export function positionOf(revision: number, index: number): number {
  return revision * OPERATIONS_MAX + index;
}

export function revisionOf(position: number): number {
  return Math.floor(position / OPERATIONS_MAX);
}
