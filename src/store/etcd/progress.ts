/**
 * Marks of progress on request.
 *
 * etcd answers a request for progress past the events that wait to be sent (until 3.4.25 and
 * 3.5.8), or not at all while a watch is behind (since). So a mark counts only when a second answer
 * has come with no event between the two, and requests that are not answered are made again. The
 * second is asked for a while later: etcd looks every 100 ms after watches that are behind, as one
 * is that begins in the past.
 */
import type { Clock, Timer } from "#lib/clock.ts";

const REPEAT_MS = 200;
/** The watch that etcd names in answers to a request; its own periodic marks name the real one. */
const ALL_WATCHES = -1;

export class ProgressRequests implements Disposable {
  readonly #clock: Clock;
  readonly #request: () => void;
  #wanted = false;
  #open = false;
  #candidate: number | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, request: () => void) {
    this.#clock = clock;
    this.#request = request;
  }

  want(): void {
    this.#wanted = true;
    this.#candidate = undefined; // it must not be older than this moment
    this.#send();
  }

  streamBegan(): void {
    this.#open = true;
    this.#send();
  }

  streamEnded(): void {
    this.#open = false;
    this.#candidate = undefined;
    this.#timer?.cancel();
  }

  eventsCame(): void {
    this.#candidate = undefined;
  }

  /** The revision of a mark that can be relied on. */
  receive(revision: number, watchId: number): number | undefined {
    if (watchId !== ALL_WATCHES) return revision;
    if (!this.#wanted) return undefined;
    const mark = this.#candidate;
    if (mark === undefined) {
      this.#candidate = revision;
      this.#sendLater();
      return undefined;
    }
    this.#wanted = false;
    this.#candidate = undefined;
    this.#timer?.cancel();
    return mark;
  }

  [Symbol.dispose](): void {
    this.#open = false;
    this.#timer?.cancel();
  }

  #send(): void {
    if (!this.#open || !this.#wanted) return;
    this.#request();
    this.#sendLater();
  }

  #sendLater(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.schedule(REPEAT_MS, () => this.#send());
  }
}
