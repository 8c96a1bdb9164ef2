/** The store's contract on an engine of this process: the embedded and the memory store. */

import { nextTurn } from "#lib/async/next-turn.ts";
import type { Clock } from "#lib/time/clock.ts";
import { checkOperations } from "#store/check-operations.ts";
import {
  type DeleteOptions,
  type GetAnswer,
  type GetOptions,
  type LocalHistory,
  type Operation,
  type PutOptions,
  type RangeAnswer,
  type RangeOptions,
  type RevisionRecord,
  type RevisionsOptions,
  type SnapshotSummary,
  type Store,
  StoreError,
  type TransactAnswer,
  type Watch,
  type WatchOptions,
  type WriteAnswer,
} from "#store/contract.ts";
import { writeSnapshot } from "#store/snapshot.ts";
import type { SnapshotEntry } from "#store/snapshot-format.ts";
import { AutoCompaction, type HistoryPolicy } from "./auto-compaction.ts";
import { Committer, closedError } from "./committer.ts";
import { toEntry } from "./decide-write.ts";
import type { Commit, Engine, View } from "./engine.ts";
import { Expiry } from "./expiry.ts";
import { REVISIONS_MAX, readRevisions, revisionAt } from "./history.ts";
import { LongReads } from "./long-reads.ts";
import { countKeys, readKey, readRange } from "./read.ts";
import { WatchHub } from "./watch-hub.ts";

export interface LocalStoreOptions {
  readonly clock: Clock;
  readonly history: HistoryPolicy;
  /** Called when the store is closed. */
  readonly onEnd?: () => void;
}

/** Keys that a range reads before other work may run: a few milliseconds. */
const KEYS_PER_TURN = 1_000;
/** The same for changes with their values. */
const CHANGES_PER_TURN = 64;

export class LocalStore implements Store, LocalHistory {
  readonly #engine: Engine;
  readonly #committer: Committer;
  readonly #hub: WatchHub;
  readonly #expiry: Expiry;
  readonly #compaction: AutoCompaction;
  readonly #longReads = new LongReads();
  readonly #clock: Clock;
  readonly #onEnd: (() => void) | undefined;
  /** Why calls fail, once the store is closed. */
  #closed: StoreError | undefined;

  constructor(engine: Engine, { clock, history, onEnd }: LocalStoreOptions) {
    this.#engine = engine;
    this.#onEnd = onEnd;
    this.#clock = clock;
    this.#hub = new WatchHub(engine);
    const committer = new Committer({
      engine,
      clock,
      onCommit: (commit) => this.#onCommit(commit),
      onFullDisk: () => this.#compaction.noticeFullDisk(committer.isSwept),
    });
    this.#committer = committer;
    this.#expiry = new Expiry({
      clock,
      view: () => engine.view,
      submit: (operations) => this.transact(operations),
    });
    this.#compaction = new AutoCompaction({
      clock,
      policy: history,
      state: engine.view.state,
      revisionAt: (timeMs) => revisionAt(engine.view, timeMs),
      // Fails only with the store closed or its disk full; the next commit tries again.
      compact: (revision) => void committer.compact(revision).catch(() => undefined),
    });
  }

  /** Takes up what an earlier process left: keys that expire, a compaction that was not finished. */
  start(): void {
    this.#expiry.start();
    const { state } = this.#engine.view;
    if (!this.#committer.isSwept) {
      this.#committer.compact(state.compactRevision).catch(() => undefined);
    }
    this.#compaction.notice(state, this.#committer.isSwept);
  }

  async currentRevision(): Promise<number> {
    return this.#read().state.revision;
  }

  async get(key: string, { atRevision }: GetOptions = {}): Promise<GetAnswer> {
    return readKey(this.#read(), key, atRevision);
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<RangeAnswer> {
    const view = this.#read();
    const { commitsTakeTime } = this.#engine;
    if (commitsTakeTime && isLong(view, prefix, options)) {
      return await this.#rangeOverTurns(prefix, options);
    }
    // Most are short enough to be read in one go.
    const atOnce = readRange(view, prefix, options, KEYS_PER_TURN);
    for (;;) {
      const step = atOnce.next();
      if (step.done) return step.value;
      if (commitsTakeTime) return await this.#rangeOverTurns(prefix, options);
    }
  }

  async count(prefix: string, { atRevision }: GetOptions = {}): Promise<number> {
    return countKeys(this.#read(), prefix, atRevision);
  }

  put(key: string, value: Uint8Array, options?: PutOptions): Promise<WriteAnswer> {
    return this.#write({ op: "put", key, value, ...options });
  }

  delete(key: string, options?: DeleteOptions): Promise<WriteAnswer> {
    return this.#write({ op: "delete", key, ...options });
  }

  transact(operations: readonly Operation[]): Promise<TransactAnswer> {
    return new Promise((resolve, reject) => {
      checkOperations(operations);
      this.#committer.submit({ operations, resolve, reject });
    });
  }

  watch(prefix: string, options: WatchOptions): Watch {
    this.#read();
    return this.#hub.watch(prefix, options);
  }

  async compact(revision: number): Promise<void> {
    const { state } = this.#read();
    if (revision > state.revision) {
      throw new StoreError(
        { code: "FutureRevision", currentRevision: state.revision },
        `cannot compact to revision ${revision}; the newest is ${state.revision}`,
      );
    }
    if (revision > state.compactRevision) await this.#committer.compact(revision);
  }

  async revisions(options: RevisionsOptions = {}): Promise<readonly RevisionRecord[]> {
    const { fromRevision = 1, limit = REVISIONS_MAX } = options;
    using _ = await this.#longReads.begin();
    this.#read();
    using view = this.#engine.hold();
    return await this.#overTurns(readRevisions(view, fromRevision, limit, CHANGES_PER_TURN));
  }

  async revisionAt(timeMs: number): Promise<number> {
    const view = this.#read();
    const { compactRevision } = view.state;
    const revision = revisionAt(view, timeMs);
    if (revision > compactRevision) return revision;
    throw new StoreError(
      { code: "Compacted", compactRevision },
      `what was current at ${new Date(timeMs).toISOString()} is not kept any more`,
    );
  }

  async snapshot(path: string, signal?: AbortSignal): Promise<SnapshotSummary> {
    using _ = await this.#longReads.begin();
    this.#read();
    using view = this.#engine.hold();
    const header = { revision: view.state.revision, writtenAtMs: this.#clock.nowMs() };
    return await writeSnapshot(path, header, this.#entriesOf(view), signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end(closedError());
  }

  /** Closes the store; later calls, and watches, fail with `reason`. */
  async end(reason: StoreError): Promise<void> {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    this.#expiry[Symbol.dispose]();
    this.#compaction[Symbol.dispose]();
    await this.#committer.close(reason);
    this.#hub.close(reason);
    await this.#engine[Symbol.asyncDispose]();
    this.#onEnd?.();
  }

  #read(): View {
    if (this.#closed !== undefined) throw this.#closed;
    return this.#engine.view;
  }

  /** Lets other work run after each KEYS_PER_TURN keys. */
  async #rangeOverTurns(prefix: string, options: RangeOptions): Promise<RangeAnswer> {
    using _ = await this.#longReads.begin();
    this.#read();
    using view = this.#engine.hold();
    return await this.#overTurns(readRange(view, prefix, options, KEYS_PER_TURN));
  }

  async #overTurns<Answer>(reading: Generator<void, Answer>): Promise<Answer> {
    for (;;) {
      const step = reading.next();
      if (step.done) return step.value;
      await nextTurn();
      this.#read(); // a store that is being closed waits for this
    }
  }

  async *#entriesOf(view: View): AsyncIterable<SnapshotEntry> {
    let read = 0;
    for (const { key, position } of view.keys.heads("")) {
      const change = view.log.change(position);
      if (change === undefined) throw new Error(`the log lacks the change of ${key}`);
      yield { ...toEntry(change), expiresAtMs: change.expiresAtMs };
      read += 1;
      if (read % KEYS_PER_TURN !== 0) continue;
      await nextTurn();
      this.#read(); // a store that is being closed waits for this
    }
  }

  #write(operation: Operation): Promise<WriteAnswer> {
    return new Promise((resolve, reject) => {
      const operations = [operation];
      checkOperations(operations);
      const answer = (all: TransactAnswer): void => {
        if (all.ok) resolve(all);
        else resolve({ ok: false, revision: all.revision, current: all.conflicts[0]?.current });
      };
      this.#committer.submit({ operations, resolve: answer, reject });
    });
  }

  #onCommit({ steps, state }: Commit): void {
    try {
      this.#hub.publish(steps, state.revision);
    } catch (error) {
      // What was committed stays committed; who watches must learn that something was missed.
      this.#hub.close(error instanceof Error ? error : new Error(String(error)));
    }
    this.#expiry.notice(steps);
    this.#compaction.notice(state, this.#committer.isSwept);
  }
}

/** Whether the range may have more than KEYS_PER_TURN keys, as far as the index shows. */
function isLong({ keys }: View, prefix: string, { limit, startAfter }: RangeOptions): boolean {
  if (limit !== undefined && limit <= KEYS_PER_TURN) return false;
  let count = 0;
  for (const _ of keys.heads(prefix, startAfter)) {
    count += 1;
    if (count > KEYS_PER_TURN) return true;
  }
  return false;
}
