/**
 * Limits the JSON text that the caches of objects keep in memory. Components in the same process hold the
 * parsed values of most objects; of these the text can be made again from the value when a client asks.
 *
 * Promises:
 * 1. While the text of all held revisions is within the limit, none is dropped.
 * 2. Beyond it the text of the oldest revisions is dropped, if their values are in use and give the same
 *    text. Others are tried again later, TRIES_MAX for each revision that is added.
 */
import type { Revision } from "./revision.ts";

const JSON_BYTES_MAX = 128 * 1024 * 1024;
const TRIES_MAX = 4;
/** Below this share of the limit nothing has to be dropped soon. */
const LOW_SHARE = 0.9;

export class JsonBudget {
  readonly #bytesMax: number;
  /** The oldest first. */
  readonly #held = new Set<Revision>();
  /**
   * Kept while the limit is reached, because to begin anew means to pass over all places of revisions that
   * were released. Not longer: an iterator refers to what the set held when it last grew.
   */
  #next: Iterator<Revision> | undefined;
  #bytes = 0;

  constructor(bytesMax = JSON_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Of the text that is held. */
  get bytes(): number {
    return this.#bytes;
  }

  hold(revision: Revision): void {
    this.#held.add(revision);
    this.#bytes += revision.heldBytes;
    for (let tries = 0; tries < TRIES_MAX && this.#bytes > this.#bytesMax; tries++) {
      this.#dropOldest();
    }
  }

  /** The revision is not the current one of its object any more. */
  release(revision: Revision): void {
    if (this.#held.delete(revision)) this.#bytes -= revision.heldBytes;
    if (this.#bytes < this.#bytesMax * LOW_SHARE) this.#next = undefined;
  }

  #dropOldest(): void {
    this.#next ??= this.#held.values();
    const { value: oldest, done } = this.#next.next();
    if (done === true) {
      this.#next = undefined; // begins anew with the next revision
      return;
    }
    this.#held.delete(oldest);
    if (oldest.dropText()) this.#bytes -= oldest.heldBytes;
    else this.#held.add(oldest);
  }
}
