/** A watch whose batches are decrypted on their way. See EncryptedStore for what it promises. */
import { deferred } from "#lib/async/deferred.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import {
  StoreError,
  WATCH_BUFFER_EVENTS_MAX,
  type Watch,
  type WatchBatch,
} from "#store/contract.ts";

export class DecryptedWatch implements Watch {
  readonly #inner: Watch;
  readonly #open: (batch: WatchBatch) => MaybePromise<WatchBatch>;
  readonly #ending: AbortController;

  /** `ending` ends the inner watch. */
  constructor(
    inner: Watch,
    open: (batch: WatchBatch) => MaybePromise<WatchBatch>,
    ending: AbortController,
  ) {
    this.#inner = inner;
    this.#open = open;
    this.#ending = ending;
  }

  async deliverTo(sink: (batch: WatchBatch) => void): Promise<void> {
    const failed = deferred<never>();
    failed.promise.catch(() => undefined);
    let waitingEvents = 0;
    let tail: Promise<void> | undefined;
    const deliver = (batch: WatchBatch): void => {
      const opened = this.#open(batch);
      if (tail === undefined && !(opened instanceof Promise)) {
        sink(opened);
        return;
      }
      waitingEvents += batch.events.length;
      if (waitingEvents > WATCH_BUFFER_EVENTS_MAX) {
        throw new StoreError({ code: "SlowConsumer" }, "too many changes wait for a KMS plugin");
      }
      const last = (tail ?? Promise.resolve())
        .then(() => opened)
        .then((plain) => {
          waitingEvents -= batch.events.length;
          sink(plain);
          if (tail === last) tail = undefined;
        })
        .catch((error: unknown) => {
          failed.reject(error);
          throw error;
        });
      last.catch(() => undefined);
      tail = last;
    };
    try {
      await Promise.race([this.#inner.deliverTo(deliver), failed.promise]);
      await tail;
    } finally {
      this.#ending.abort();
    }
  }

  requestProgress(): void {
    this.#inner.requestProgress();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WatchBatch> {
    try {
      for await (const batch of this.#inner) yield await this.#open(batch);
    } finally {
      this.#ending.abort();
    }
  }
}
