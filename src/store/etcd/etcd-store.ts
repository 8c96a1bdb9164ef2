/** The store's contract on etcd's KV, Watch and Lease services. */

import { CoalescedRead } from "#lib/async/coalesced-read.ts";
import type { Clock } from "#lib/time/clock.ts";
import { checkOperations } from "#store/check-operations.ts";
import {
  type DeleteOptions,
  type Entry,
  ETCD_VALUE_BYTES_MAX,
  type GetAnswer,
  type GetOptions,
  type Operation,
  type PutOptions,
  type RangeAnswer,
  type RangeOptions,
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
import type { Endpoints } from "./endpoints.ts";
import { isCompacted, isFutureRevision, isLeaseGone } from "./errors.ts";
import { EtcdWatch } from "./etcd-watch.ts";
import { LeaseEnds, Leases } from "./leases.ts";
import { compact, type RangeRequest, type RangeResponse, range } from "./rpc.ts";
import { transactSafely } from "./transact.ts";
import { keyBytes, prefixEnd, rangeStart, revisionOf, toEntry } from "./translate.ts";

/** Entries of one answer; longer ranges are fetched in several at one revision. */
const PAGE_ENTRIES = 5_000;

export interface EtcdStoreOptions {
  readonly endpoints: Endpoints;
  readonly clock: Clock;
}

export class EtcdStore implements Store {
  readonly #endpoints: Endpoints;
  readonly #clock: Clock;
  readonly #leases: Leases;
  readonly #watches = new Set<EtcdWatch>();
  readonly #closing = new AbortController();
  readonly #newest = new CoalescedRead(async () => {
    const nothing = { key: Buffer.of(0), countOnly: true };
    return revisionOf(await this.#range(nothing));
  });
  #lastRevision = 0;
  /** As far as it is known: everything before it has been compacted. */
  #historyStart = 0;

  constructor({ endpoints, clock }: EtcdStoreOptions) {
    this.#endpoints = endpoints;
    this.#clock = clock;
    this.#leases = new Leases(endpoints, clock);
  }

  /** Aborts when the store is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Asked for by every consistent read and by every watch that wants to know how far it is. */
  currentRevision(): Promise<number> {
    return this.#newest.ask();
  }

  async get(key: string, { atRevision }: GetOptions = {}): Promise<GetAnswer> {
    const response = await this.#range({ key: keyBytes(key), revision: atRevision ?? 0 });
    const [kv] = response.kvs;
    return { revision: atRevision ?? revisionOf(response), entry: kv && toEntry(kv) };
  }

  async range(prefix: string, options: RangeOptions = {}): Promise<RangeAnswer> {
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    const entries: Entry[] = [];
    let { atRevision, startAfter } = options;
    for (;;) {
      const response = await this.#range({
        key: rangeStart(prefix, startAfter),
        rangeEnd: prefixEnd(prefix),
        revision: atRevision ?? 0,
        limit: Math.min(limit - entries.length, PAGE_ENTRIES),
        keysOnly: options.keysOnly ?? false,
      });
      atRevision ??= revisionOf(response);
      for (const kv of response.kvs) entries.push(toEntry(kv));
      startAfter = entries.at(-1)?.key;
      const remaining = response.count - response.kvs.length;
      if (remaining === 0 || entries.length >= limit) {
        return { revision: atRevision, entries, remaining };
      }
    }
  }

  async count(prefix: string, { atRevision }: GetOptions = {}): Promise<number> {
    const response = await this.#range({
      key: rangeStart(prefix, undefined),
      rangeEnd: prefixEnd(prefix),
      revision: atRevision ?? 0,
      countOnly: true,
    });
    return response.count;
  }

  put(key: string, value: Uint8Array, options?: PutOptions): Promise<WriteAnswer> {
    return this.#write({ op: "put", key, value, ...options });
  }

  delete(key: string, options?: DeleteOptions): Promise<WriteAnswer> {
    return this.#write({ op: "delete", key, ...options });
  }

  async transact(operations: readonly Operation[]): Promise<TransactAnswer> {
    checkOperations(operations, ETCD_VALUE_BYTES_MAX);
    if (this.signal.aborted) throw closedError();
    try {
      const answer = await transactSafely(this.#endpoints, this.#leases, this.#clock, operations);
      this.#lastRevision = Math.max(this.#lastRevision, answer.revision);
      return answer;
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  watch(prefix: string, options: WatchOptions): Watch {
    if (this.signal.aborted) throw closedError();
    const host = {
      endpoints: this.#endpoints,
      clock: this.#clock,
      lastRevision: () => this.#lastRevision,
      currentRevision: () => this.currentRevision(),
      ended: (over: EtcdWatch) => this.#watches.delete(over),
    };
    const watch = new EtcdWatch(host, prefix, options);
    this.#watches.add(watch);
    watch.start();
    return watch;
  }

  async compact(revision: number): Promise<void> {
    if (this.signal.aborted) throw closedError();
    try {
      await this.#endpoints.call(compact, { revision, physical: true }, "read");
    } catch (caught) {
      const error = this.#failureOf(caught);
      if (isFutureRevision(error)) throw await this.#futureRevision(revision);
      if (!isCompacted(error)) throw error; // else that much had been compacted already
    }
    this.#historyStart = Math.max(this.#historyStart, revision);
  }

  async snapshot(path: string, signal?: AbortSignal): Promise<SnapshotSummary> {
    const revision = await this.currentRevision();
    const leases = new LeaseEnds(this.#endpoints, this.#clock);
    const header = { revision, writtenAtMs: this.#clock.nowMs() };
    return await writeSnapshot(path, header, this.#entriesAt(revision, leases), signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.signal.aborted) return;
    this.#closing.abort();
    for (const watch of [...this.#watches]) watch.fail(closedError());
    this.#endpoints[Symbol.dispose]();
  }

  async #range(request: Partial<RangeRequest>): Promise<RangeResponse> {
    if (this.signal.aborted) throw closedError();
    try {
      const response = await this.#endpoints.call(range, request, "read");
      this.#lastRevision = Math.max(this.#lastRevision, revisionOf(response));
      return response;
    } catch (caught) {
      const error = this.#failureOf(caught);
      if (isCompacted(error)) throw await this.#compacted(request.revision ?? 0);
      if (isFutureRevision(error)) throw await this.#futureRevision(request.revision ?? 0);
      throw error;
    }
  }

  async *#entriesAt(revision: number, leases: LeaseEnds): AsyncIterable<SnapshotEntry> {
    let startAfter: string | undefined;
    for (let more = true; more; ) {
      const response = await this.#range({
        key: rangeStart("", startAfter),
        rangeEnd: prefixEnd(""),
        limit: PAGE_ENTRIES,
        revision,
      });
      for (const kv of response.kvs) {
        const entry = toEntry(kv);
        yield { ...entry, expiresAtMs: await leases.endsAtMs(kv.lease) };
        startAfter = entry.key;
      }
      ({ more } = response);
    }
  }

  async #write(operation: Operation): Promise<WriteAnswer> {
    const answer = await this.transact([operation]);
    if (answer.ok) return answer;
    return { ok: false, revision: answer.revision, current: answer.conflicts[0]?.current };
  }

  /** `Closed` if the store was closed while the call was under way. */
  #failureOf(error: unknown): unknown {
    return this.signal.aborted && !isLeaseGone(error) ? closedError() : error;
  }

  /** What is known is not asked for: the answer takes etcd a tenth of a second and more. */
  async #compacted(revision: number): Promise<StoreError> {
    if (revision >= this.#historyStart) this.#historyStart = await this.#askHistoryStart();
    const compactRevision = this.#historyStart;
    const message = `revision ${revision} has been compacted; history begins at ${compactRevision}`;
    return new StoreError({ code: "Compacted", compactRevision }, message);
  }

  /** etcd reports the compacted revision only to a watch that begins before it. */
  async #askHistoryStart(): Promise<number> {
    const abort = new AbortController();
    const watch = this.watch("compact_rev_key", { fromRevision: 1, signal: abort.signal });
    try {
      await watch[Symbol.asyncIterator]().next();
    } catch (error) {
      const problem = error instanceof StoreError ? error.problem : undefined;
      if (problem?.code === "Compacted") return problem.compactRevision;
      throw error;
    } finally {
      abort.abort();
    }
    throw new Error("etcd said that a revision was compacted, then that it was not");
  }

  async #futureRevision(revision: number): Promise<StoreError> {
    const currentRevision = await this.currentRevision();
    return new StoreError(
      { code: "FutureRevision", currentRevision },
      `revision ${revision} does not exist yet; the newest is ${currentRevision}`,
    );
  }
}

function closedError(): StoreError {
  return new StoreError({ code: "Closed" }, "the store is closed");
}
