/**
 * One watch of an etcd store: a stream to one member, and when that breaks, a stream to another
 * that goes on where the first ended. Nothing is buffered but what the contract allows: while the
 * watch reads history the stream waits for the consumer, from then on a slow one is cut off.
 *
 * It asks etcd for the changes of all keys and leaves out those of others. So it knows at any time
 * how far it has come, also while its own keys do not change, for which etcd's progress
 * notifications are not reliable (see progress.ts). The one watch of an API server is of all keys anyway.
 */
import { Backoff } from "#lib/async/backoff.ts";
import { deferred } from "#lib/async/deferred.ts";
import { GrpcError } from "#lib/grpc/grpc-status.ts";
import type { GrpcStream } from "#lib/grpc/grpc-stream.ts";
import { systemRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { BatchBuffer } from "#store/batch-buffer.ts";
import {
  StoreError,
  type Watch,
  type WatchBatch,
  type WatchEvent,
  type WatchOptions,
} from "#store/contract.ts";
import type { Endpoints } from "./endpoints.ts";
import { ProgressRequests } from "./progress.ts";
import { type Event, type WatchRequest, type WatchResponse, watch } from "./rpc.ts";
import { prefixEnd, rangeStart, revisionOf, toWatchEvent } from "./translate.ts";

export interface WatchHost {
  readonly endpoints: Endpoints;
  readonly clock: Clock;
  /** The newest revision that this store has seen. */
  lastRevision(): number;
  currentRevision(): Promise<number>;
  ended(watch: EtcdWatch): void;
}

type Stream = GrpcStream<Partial<WatchRequest>, WatchResponse>;

export class EtcdWatch implements Watch {
  readonly #host: WatchHost;
  readonly #prefix: string;
  readonly #options: WatchOptions;
  readonly #buffer: BatchBuffer;
  readonly #progress: ProgressRequests;
  readonly #ending = new AbortController();
  readonly #onAbort = (): void => this.#buffer.end();
  #stream: Stream | undefined;
  #endSession: () => void = () => undefined;
  /** The first revision that was not received yet; undefined: start with the next change. */
  #nextRevision: number | undefined;
  #deliveredRevision = 0;
  /** A mark is to be delivered as soon as this has been reached. */
  #wantedRevision: number | undefined;
  /** Changes up to here are history: the stream may be held back. */
  #historyEnd = 0;

  constructor(host: WatchHost, prefix: string, options: WatchOptions) {
    this.#host = host;
    this.#prefix = prefix;
    this.#options = options;
    // A write that was answered before this watch was asked for must not be in it, and one that is
    // handed in from now on must be.
    this.#nextRevision = options.fromRevision ?? host.lastRevision() + 1;
    this.#buffer = new BatchBuffer(() => this.#onEnd());
    this.#progress = new ProgressRequests({
      clock: host.clock,
      signal: this.#ending.signal,
      currentRevision: () => host.currentRevision(),
      onRevision: (revision) => {
        this.#wantedRevision = revision;
        this.#markProgress();
      },
    });
  }

  start(): void {
    const { signal } = this.#options;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#buffer.end();
    else void this.#run();
  }

  fail(error: Error): void {
    this.#buffer.end(error);
  }

  requestProgress(): void {
    if (!this.#buffer.ended) this.#progress.want();
  }

  async deliverTo(sink: (batch: WatchBatch) => void): Promise<void> {
    const pouring = this.#buffer.pour(sink);
    this.#stream?.resume();
    await pouring;
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchBatch, undefined> {
    return {
      next: () => {
        const next = this.#buffer.next();
        if (this.#buffer.waitingBatches === 0) this.#stream?.resume();
        return next;
      },
      return: async () => {
        this.#buffer.end();
        return { done: true, value: undefined };
      },
    };
  }

  async #run(): Promise<void> {
    const { clock } = this.#host;
    const backoff = new Backoff({ baseMs: 50, capMs: 2_000, jitter: 0.5, random: systemRandom });
    const { signal } = this.#ending;
    while (!this.#buffer.ended) {
      const received = await this.#session();
      if (received) backoff.reset();
      if (!this.#buffer.ended) await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    }
  }

  /** One stream, from its beginning to its end. Returns whether the member answered at all. */
  async #session(): Promise<boolean> {
    const { endpoints } = this.#host;
    const connection = await endpoints.connection().catch(() => undefined);
    if (connection === undefined || this.#buffer.ended) return false;
    let received = false;
    const over = deferred<void>();
    this.#endSession = () => over.resolve();
    try {
      const stream = await endpoints.stream(connection, watch, {
        onMessage: (response) => {
          received = true;
          if (!this.#receive(response)) this.#cancelStream();
        },
        onEnd: () => over.resolve(),
      });
      this.#stream = stream;
      if (this.#buffer.ended) this.#cancelStream();
      else stream.write({ create: this.#create() });
      await over.promise;
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error;
    }
    this.#stream = undefined;
    endpoints.leave(connection);
    return received;
  }

  #cancelStream(): void {
    this.#stream?.cancel();
    this.#endSession();
  }

  #create(): WatchRequest["create"] & object {
    // One revision earlier than wanted: etcd before 3.5.16 may have dropped a deletion at the
    // compacted revision itself without saying so. Earlier than that, it does say so.
    const startRevision =
      this.#nextRevision === undefined ? 0 : Math.max(1, this.#nextRevision - 1);
    return {
      key: rangeStart("", undefined),
      rangeEnd: prefixEnd(""),
      startRevision,
      prevKv: this.#options.withPrevValue ?? true,
    };
  }

  /** False if this stream is of no more use. */
  #receive(response: WatchResponse): boolean {
    if (response.canceled) return this.#receiveCancel(response);
    if (response.created) {
      this.#historyEnd = revisionOf(response);
      this.#nextRevision ??= this.#historyEnd + 1;
      this.#markProgress();
    } else {
      this.#receiveEvents(response);
    }
    return true;
  }

  #receiveCancel({ compactRevision, cancelReason }: WatchResponse): boolean {
    if (compactRevision === 0) {
      if (/permission denied/.test(cancelReason)) {
        this.fail(new StoreError({ code: "Denied" }, `etcd: ${cancelReason}`));
      }
      return false;
    }
    if (this.#options.fromRevision === undefined && this.#deliveredRevision === 0) {
      this.#nextRevision = undefined; // no start revision was requested: begin with the next change
      return false;
    }
    const message = `revision ${this.#nextRevision} has been compacted; history begins at ${compactRevision}`;
    this.fail(new StoreError({ code: "Compacted", compactRevision }, message));
    return false;
  }

  #receiveEvents({ events: all }: WatchResponse): void {
    const first = this.#nextRevision ?? 0;
    const events: WatchEvent[] = [];
    let revision = 0;
    for (const event of all) {
      revision = Math.max(revision, event.kv?.modRevision ?? 0);
      if (revision < first || !this.#isWatched(event)) continue;
      const translated = toWatchEvent(event);
      if (translated !== undefined) events.push(translated);
    }
    if (revision < first) return;
    this.#nextRevision = revision + 1;
    if (events.length > 0) this.#deliver({ revision, events });
    else this.#markProgress();
  }

  #isWatched({ kv }: Event): boolean {
    return kv?.key.startsWith(this.#prefix) === true;
  }

  /** Once everything up to the wanted revision has been delivered. */
  #markProgress(): void {
    const wanted = this.#wantedRevision;
    if (wanted === undefined || (this.#nextRevision ?? 0) <= wanted) return;
    this.#deliver({ revision: Math.max(wanted, this.#deliveredRevision), events: [] });
  }

  #deliver(batch: WatchBatch): void {
    const { revision } = batch;
    this.#deliveredRevision = revision;
    if (revision >= (this.#wantedRevision ?? 0)) this.#wantedRevision = undefined;
    this.#buffer.offer(batch);
    const history = revision <= this.#historyEnd;
    if (history && this.#buffer.waitingBatches > 0) this.#stream?.pause();
  }

  #onEnd(): void {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#cancelStream();
    this.#ending.abort();
    this.#host.ended(this);
  }
}
