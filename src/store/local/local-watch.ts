/**
 * One watch of a local store. It is behind, reading history page by page as its consumer asks for
 * more, until it has reached the newest revision; from then on it is live and commits are handed to
 * it. Only a live watch buffers, within the contract's limits.
 */
import { nextTurn } from "#lib/async/next-turn.ts";
import { BatchBuffer } from "#store/batch-buffer.ts";
import type { Watch, WatchBatch, WatchEvent, WatchOptions } from "#store/contract.ts";
import { positionOf, revisionOf, type View } from "./engine.ts";
import { compacted } from "./read.ts";
import { prevValueOf, toWatchEvent } from "./watch-event.ts";

/** How many changes one page of history looks at: a few milliseconds of work. */
const PAGE_CHANGES = 1_000;

export interface WatchHost {
  view(): View;
  goLive(watch: LocalWatch): void;
  ended(watch: LocalWatch): void;
}

export class LocalWatch implements Watch {
  readonly withPrevValue: boolean;
  readonly #host: WatchHost;
  readonly #prefix: string;
  readonly #signal: AbortSignal;
  readonly #buffer: BatchBuffer;
  readonly #onAbort = (): void => this.#buffer.end();
  #nextRevision: number;
  #live = false;

  constructor(host: WatchHost, prefix: string, options: WatchOptions) {
    this.withPrevValue = options.withPrevValue ?? true;
    this.#host = host;
    this.#prefix = prefix;
    this.#signal = options.signal;
    this.#nextRevision = options.fromRevision ?? host.view().state.revision + 1;
    this.#buffer = new BatchBuffer(() => {
      this.#signal.removeEventListener("abort", this.#onAbort);
      this.#host.ended(this);
    });
  }

  start(): void {
    if (this.#signal.aborted) {
      this.#buffer.end();
      return;
    }
    this.#signal.addEventListener("abort", this.#onAbort, { once: true });
    if (this.#nextRevision > this.#host.view().state.revision) this.#goLive();
  }

  deliver(batch: WatchBatch): void {
    if (batch.revision < this.#nextRevision) return; // a watch may begin in the future
    const [first] = batch.events;
    if (first !== undefined && first.revision < this.#nextRevision) {
      const events = batch.events.filter(({ revision }) => revision >= this.#nextRevision);
      batch = { revision: batch.revision, events };
    }
    this.#buffer.offer(batch);
  }

  fail(error: Error): void {
    this.#buffer.end(error);
  }

  /** While it is behind, the pages of history are themselves marks of progress. */
  requestProgress(): void {
    if (this.#live) this.#buffer.offer({ revision: this.#host.view().state.revision, events: [] });
  }

  async deliverTo(sink: (batch: WatchBatch) => void): Promise<void> {
    while (!this.#live && !this.#buffer.ended) {
      const page = this.#catchUp();
      if (page !== undefined) this.#buffer.offer(page);
      this.#buffer.drain(sink);
      if (!this.#live) await nextTurn();
    }
    await this.#buffer.pour(sink);
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchBatch, undefined> {
    return {
      next: () => {
        if (!this.#live && !this.#buffer.ended) {
          const page = this.#catchUp();
          if (page !== undefined) this.#buffer.offer(page);
        }
        return this.#buffer.next();
      },
      return: async () => {
        this.#buffer.end();
        return { done: true, value: undefined };
      },
    };
  }

  /** The next page of history, or undefined if it had to be given up. Live after the last page. */
  #catchUp(): WatchBatch | undefined {
    const view = this.#host.view();
    const { compactRevision, revision: newest } = view.state;
    if (this.#nextRevision <= compactRevision) {
      this.fail(compacted(this.#nextRevision, compactRevision));
      return undefined;
    }
    const page = readPage(view, this.#prefix, this.#nextRevision, this.withPrevValue);
    this.#nextRevision = page.revision + 1;
    if (page.revision === newest) this.#goLive();
    return page;
  }

  #goLive(): void {
    this.#live = true;
    this.#host.goLive(this);
  }
}

/** Whole revisions only, and at least one. */
function readPage(
  view: View,
  prefix: string,
  fromRevision: number,
  withPrevValue: boolean,
): WatchBatch {
  const events: WatchEvent[] = [];
  const newest = view.state.revision;
  let seen = 0;
  let revision = fromRevision;
  for (const change of view.log.changes(positionOf(fromRevision, 0), positionOf(newest + 1, 0))) {
    const changeRevision = revisionOf(change.position);
    if (seen >= PAGE_CHANGES && changeRevision !== revision) {
      return { revision: changeRevision - 1, events };
    }
    seen += 1;
    revision = changeRevision;
    if (!change.key.startsWith(prefix)) continue;
    const prevValue = withPrevValue ? prevValueOf(change, view) : undefined;
    events.push(toWatchEvent(change, prevValue));
  }
  return { revision: newest, events };
}
