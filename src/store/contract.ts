/**
 * The store: bytes under keys, with one revision counter for the whole cluster.
 *
 * Promises of every implementation:
 *
 * Revisions
 *  1. An empty store is at revision 1. Each committed write makes the next revision, without a gap;
 *     a transaction is one write. Revisions survive a restart and are never used twice.
 *  2. A write that answered `ok` is durable (in the memory store: visible). One that answered a
 *     conflict or an error changed nothing, except `Unavailable` with `maybeApplied`.
 *
 * Reads
 *  3. A read sees every write that was acknowledged before the read began.
 *  4. Keys are in the order of their UTF-8 bytes. All pages of one listing are read at one revision
 *     by handing the first page's revision on as `atRevision`.
 *  5. A revision below the compacted one cannot be read (`Compacted`), nor one that does not exist
 *     yet (`FutureRevision`). The compacted revision itself can.
 *
 * Writes
 *  6. Compare-and-swap: a write whose condition does not hold answers what is there instead, so the
 *     caller needs no second read. A delete also conflicts when there is nothing to delete.
 *  7. A transaction is carried out as a whole or not at all. Its changes share one revision.
 *  8. A key with a time to live is deleted (an ordinary delete, with its own event) no earlier than
 *     that time after its last write and soon after. Writing it without one makes it stay.
 *
 * Watches
 *  9. A watch delivers every change of the keys under its prefix once, in revision order, from
 *     `fromRevision` on; the changes of one revision arrive in one batch.
 * 10. `batch.revision` says: everything up to this revision has been delivered. A batch without
 *     events is a progress mark.
 * 11. In the embedded and the memory store, `deliverTo` hands a change over before the write that made
 *     it is acknowledged: own writes are visible before they are acknowledged.
 * 12. A watch whose next revision has been compacted ends with `Compacted`. A consumer that falls
 *     behind by more than the limits below ends with `SlowConsumer`; nothing is buffered without bound.
 * 13. A watch ends quietly when its signal aborts.
 *
 * Values handed in and out are shared, not copied: their bytes must not be changed.
 */

export interface Store extends AsyncDisposable {
  /** The newest revision. No read or watch that begins later can miss it. */
  currentRevision(): Promise<number>;

  get(key: string, options?: GetOptions): Promise<GetAnswer>;

  /** The keys that begin with `prefix`, in order. */
  range(prefix: string, options?: RangeOptions): Promise<RangeAnswer>;

  count(prefix: string, options?: GetOptions): Promise<number>;

  put(key: string, value: Uint8Array, options?: PutOptions): Promise<WriteAnswer>;

  delete(key: string, options?: DeleteOptions): Promise<WriteAnswer>;

  /** At most OPERATIONS_MAX operations, each on another key. */
  transact(operations: readonly Operation[]): Promise<TransactAnswer>;

  watch(prefix: string, options: WatchOptions): Watch;

  /** Gives up all history before `revision`. Compacting less than was compacted does nothing. */
  compact(revision: number): Promise<void>;

  /** Writes all keys at one revision to a file (see snapshot.ts) while the store goes on. */
  snapshot(path: string, signal?: AbortSignal): Promise<SnapshotSummary>;
}

/** What a store in this process also offers: its history, by revision and by time. */
export interface LocalHistory {
  /**
   * The revisions that are kept, from `fromRevision` on, oldest first; 1,000 at most. The compacted
   * revision and those before it are not among them.
   */
  revisions(options?: RevisionsOptions): Promise<readonly RevisionRecord[]>;

  /**
   * The newest revision that was committed at or before this time: `Compacted` if it is not kept any
   * more.
   */
  revisionAt(timeMs: number): Promise<number>;
}

export interface RevisionsOptions {
  readonly fromRevision?: number;
  readonly limit?: number;
}

export interface RevisionRecord {
  readonly revision: number;
  /** When its commit began, by the store's clock; 0 if it was restored or written by an older program. */
  readonly committedAtMs: number;
  /** What it changed. */
  readonly keys: readonly string[];
}

/** One key at one revision. */
export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
  /** The revision that created the key, counted anew after a delete. */
  readonly createRevision: number;
  /** The revision of its last change: what upstream calls the object's resourceVersion. */
  readonly modRevision: number;
  /** How often it was written since it was created; 1 for a new key. */
  readonly version: number;
}

export interface GetOptions {
  readonly atRevision?: number;
}

export interface GetAnswer {
  /** The revision at which the answer holds. */
  readonly revision: number;
  readonly entry: Entry | undefined;
}

export interface RangeOptions {
  readonly atRevision?: number;
  readonly limit?: number;
  /** Only keys after this one: the last key of the page before. */
  readonly startAfter?: string;
  /** Entries come with an empty value. */
  readonly keysOnly?: boolean;
  /**
   * Values may be parts of larger memory, which is held as long as one of them is: for a reader that keeps
   * most of them.
   */
  readonly packed?: boolean;
}

export interface RangeAnswer {
  readonly revision: number;
  readonly entries: readonly Entry[];
  /** How many keys follow the last entry. */
  readonly remaining: number;
}

export interface PutOptions {
  /** Write only if the key's modRevision is this one. */
  readonly expectRevision?: number;
  /** Write only if there is no such key. */
  readonly mustNotExist?: boolean;
  readonly ttlSeconds?: number;
}

export interface DeleteOptions {
  readonly expectRevision?: number;
}

export type WriteAnswer =
  | { readonly ok: true; readonly revision: number }
  | { readonly ok: false; readonly revision: number; readonly current: Entry | undefined };

export type Operation =
  | ({ readonly op: "put"; readonly key: string; readonly value: Uint8Array } & PutOptions)
  | ({ readonly op: "delete"; readonly key: string } & DeleteOptions)
  /** Changes nothing; the transaction is carried out only if this holds. */
  | ({ readonly op: "check"; readonly key: string } & Omit<PutOptions, "ttlSeconds">);

export type TransactAnswer =
  | { readonly ok: true; readonly revision: number }
  | { readonly ok: false; readonly revision: number; readonly conflicts: readonly Conflict[] };

export interface Conflict {
  /** Which of the operations could not be carried out. */
  readonly index: number;
  readonly current: Entry | undefined;
}

export interface WatchOptions {
  /** The first revision to deliver; the next one to be written unless given. */
  readonly fromRevision?: number;
  readonly signal: AbortSignal;
  /** Whether events carry `prevValue`; true unless given. Costs a read for each event. */
  readonly withPrevValue?: boolean;
}

/** Consume it once, in one of the two ways. */
export interface Watch extends AsyncIterable<WatchBatch> {
  /**
   * Hands each batch to `sink` as soon as it is known, from within the commit where the store is
   * local (promise 11). `sink` must be quick. Resolves when the signal aborts; rejects with what
   * `sink` throws or with the StoreError that ended the watch.
   */
  deliverTo(sink: (batch: WatchBatch) => void): Promise<void>;

  /** Asks for a progress mark: a batch with a revision no older than the store's at this moment. */
  requestProgress(): void;
}

export interface WatchBatch {
  /** Everything up to this revision has been delivered. */
  readonly revision: number;
  readonly events: readonly WatchEvent[];
}

export interface WatchEvent {
  readonly type: "put" | "delete";
  readonly key: string;
  /** Empty when deleted. */
  readonly value: Uint8Array;
  readonly prevValue: Uint8Array | undefined;
  readonly revision: number;
  /** As in Entry: the key is new if it equals `revision`. 0 when deleted. */
  readonly createRevision: number;
  /** 0 when deleted. */
  readonly version: number;
}

export interface SnapshotSummary {
  readonly revision: number;
  readonly keys: number;
  readonly bytes: number;
  /** Of everything in the file before it, as hexadecimal digits. */
  readonly sha256: string;
}

/**
 * The bytes of a key, as UTF-8, and of a value. etcd refuses requests above 1.5 MiB, and so large a value
 * fits into one. Other stores hold objects as JSON, which is longer than the protobuf that upstream
 * writes to etcd: what upstream takes has to fit into them, too.
 */
export const KEY_BYTES_MAX = 1_500;
export const ETCD_VALUE_BYTES_MAX = 1_560_000;
export const VALUE_BYTES_MAX = 2 * 1024 * 1024;
export const OPERATIONS_MAX = 128;

/** What a watch buffers for a consumer that iterates too slowly. */
export const WATCH_BUFFER_EVENTS_MAX = 10_000;
export const WATCH_BUFFER_BYTES_MAX = 64 * 1024 * 1024;

export type StoreProblem =
  /** Not reachable, no leader, no answer in time. It is worth trying again. */
  | {
      readonly code: "Unavailable";
      /** A write whose answer was lost: it may have been committed. */
      readonly maybeApplied: boolean;
    }
  /** The disk or the quota is full: reads go on, writes do not. */
  | { readonly code: "NoSpace" }
  | { readonly code: "Compacted"; readonly compactRevision: number }
  | { readonly code: "FutureRevision"; readonly currentRevision: number }
  | { readonly code: "SlowConsumer" }
  | { readonly code: "TooLarge" }
  /** Another process has the data directory open. */
  | { readonly code: "InUse" }
  /** Certificates or credentials were refused. */
  | { readonly code: "Denied" }
  /** The data fails its own checks. */
  | { readonly code: "Corrupt" }
  /** The store was closed. */
  | { readonly code: "Closed" };

/** Everything that a store throws on purpose. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly problem: StoreProblem;

  constructor(problem: StoreProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
