/**
 * What stands between a watch and its consumer.
 *
 * Promises:
 * 1. Batches come out once, in the order in which they were offered, to a sink (`pour`) or to
 *    the caller of `next`.
 * 2. Without a sink they wait here, up to the contract's limits; beyond them the buffer ends with
 *    `SlowConsumer` and lets go of everything.
 * 3. A sink gets a batch within `offer`. What it throws ends the buffer.
 * 4. `end` is final: waiting batches are dropped, `onEnd` runs once, later offers are ignored.
 *    With an error, `next` and `pour` reject with it; without, they end.
 */
import {
  StoreError,
  WATCH_BUFFER_BYTES_MAX,
  WATCH_BUFFER_EVENTS_MAX,
  type WatchBatch,
} from "./contract.ts";

type Result = IteratorResult<WatchBatch, undefined>;

export class BatchBuffer {
  readonly #onEnd: () => void;
  #batches: WatchBatch[] = [];
  #events = 0;
  #bytes = 0;
  #reader: { resolve(result: Result): void; reject(error: unknown): void } | undefined;
  #sink: ((batch: WatchBatch) => void) | undefined;
  #ended = false;
  #error: unknown;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get waitingBatches(): number {
    return this.#batches.length;
  }

  offer(batch: WatchBatch): void {
    if (this.#ended) return;
    const reader = this.#reader;
    if (this.#sink !== undefined) {
      this.#hand(batch, this.#sink);
    } else if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve({ done: false, value: batch });
    } else {
      this.#keep(batch);
    }
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#batches = [];
    const reader = this.#reader;
    this.#reader = undefined;
    if (error === undefined) reader?.resolve({ done: true, value: undefined });
    else reader?.reject(error);
    this.#onEnd();
  }

  /** One reader at a time. */
  next(): Promise<Result> {
    const batch = this.#batches.shift();
    if (batch !== undefined) {
      this.#events -= batch.events.length;
      this.#bytes -= bytesOf(batch);
      return Promise.resolve({ done: false, value: batch });
    }
    if (this.#ended && this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  /** Hands over what waits, now. */
  drain(sink: (batch: WatchBatch) => void): void {
    while (this.#batches.length > 0) this.#hand(this.#batches.shift()!, sink);
    this.#events = 0;
    this.#bytes = 0;
  }

  /** Hands over what waits and everything to come; settles at the end. */
  async pour(sink: (batch: WatchBatch) => void): Promise<void> {
    this.drain(sink);
    this.#sink = sink;
    await this.next();
  }

  #hand(batch: WatchBatch, sink: (batch: WatchBatch) => void): void {
    try {
      sink(batch);
    } catch (error) {
      this.end(error);
    }
  }

  #keep(batch: WatchBatch): void {
    const last = this.#batches.at(-1);
    if (batch.events.length === 0 && last !== undefined) {
      this.#batches[this.#batches.length - 1] = { revision: batch.revision, events: last.events };
      return;
    }
    this.#batches.push(batch);
    this.#events += batch.events.length;
    this.#bytes += bytesOf(batch);
    // A batch alone is not the consumer's fault, however big it is.
    if (this.#batches.length === 1) return;
    if (this.#events <= WATCH_BUFFER_EVENTS_MAX && this.#bytes <= WATCH_BUFFER_BYTES_MAX) return;
    const waiting = `${this.#events} events (${this.#bytes} bytes)`;
    this.end(new StoreError({ code: "SlowConsumer" }, `${waiting} wait for a consumer too slow`));
  }
}

function bytesOf(batch: WatchBatch): number {
  let bytes = 0;
  for (const { value, prevValue } of batch.events) bytes += value.length + (prevValue?.length ?? 0);
  return bytes;
}
