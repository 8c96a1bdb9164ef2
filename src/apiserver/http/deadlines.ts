/**
 * The time that requests have. All have the same, so they run out in the order in which they came: one
 * list and one timer do for all of them, and a request that ends in time costs a few pointers.
 * A client that asks for less has a timer of its own.
 */
import { parseDuration } from "#api/meta/duration.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import { parseQuery } from "./parse-query.ts";

export interface Deadline {
  /** The request was answered, or its client is gone. */
  end(): void;
}

export class Deadlines<Item> {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expire: (item: Item) => void;
  readonly #head: Waiting<Item>; // of a ring; the oldest comes next
  #timer: Timer | undefined;
  #stopped = false;

  /** `expire` is called for an item whose time is over; 0 ms is no limit. */
  constructor(clock: Clock, timeoutMs: number, expire: (item: Item) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#expire = expire;
    this.#head = new Waiting<Item>(undefined, Number.POSITIVE_INFINITY);
  }

  /** `askedMs`: what the client gives it, if that is less. */
  begin(item: Item, askedMs = 0): Deadline {
    if (askedMs > 0 && (askedMs < this.#timeoutMs || this.#timeoutMs === 0)) {
      return this.#alone(item, askedMs);
    }
    const waiting = new Waiting(item, this.#clock.elapsedMs() + this.#timeoutMs);
    if (this.#timeoutMs === 0) return waiting;
    if (this.#stopped) return waiting;
    waiting.joinBefore(this.#head);
    this.#timer ??= this.#clock.schedule(this.#timeoutMs, () => this.#expireDue());
    return waiting;
  }

  /** Nothing expires from now on, and no timer is left behind. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #expireDue(): void {
    const nowMs = this.#clock.elapsedMs();
    for (let oldest = this.#head.next; oldest.dueMs <= nowMs; oldest = this.#head.next) {
      oldest.end();
      this.#expire(oldest.item!);
    }
    const { dueMs } = this.#head.next;
    this.#timer =
      this.#head.next === this.#head
        ? undefined
        : this.#clock.schedule(dueMs - nowMs, () => this.#expireDue());
  }

  #alone(item: Item, ms: number): Deadline {
    if (ms < 1) {
      this.#expire(item); // less than a timer can measure, and than any answer takes
      return ENDED;
    }
    const timer = this.#clock.schedule(ms, () => this.#expire(item));
    return { end: () => timer.cancel() };
  }
}

const ENDED: Deadline = { end: () => undefined };

/** `?timeout=` of a request; 0 if there is none. What is no duration is refused elsewhere. */
export function askedTimeoutMs(url: string): number {
  const mark = url.indexOf("?");
  if (mark < 0 || !url.includes("timeout=", mark)) return 0;
  return timeoutMsOf(parseQuery(url.slice(mark + 1)));
}

export function timeoutMsOf(query: URLSearchParams): number {
  const parsed = parseDuration(query.get("timeout") || "0");
  return parsed.ok ? Number(parsed.nanos) / 1e6 : 0;
}

class Waiting<Item> implements Deadline {
  readonly item: Item | undefined;
  readonly dueMs: number;
  next: Waiting<Item> = this;
  #previous: Waiting<Item> = this;

  constructor(item: Item | undefined, dueMs: number) {
    this.item = item;
    this.dueMs = dueMs;
  }

  joinBefore(head: Waiting<Item>): void {
    this.next = head;
    this.#previous = head.#previous;
    this.#previous.next = this;
    head.#previous = this;
  }

  end(): void {
    this.next.#previous = this.#previous;
    this.#previous.next = this.next;
    this.next = this;
    this.#previous = this;
  }
}
