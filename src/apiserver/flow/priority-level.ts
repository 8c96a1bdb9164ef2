/** How many requests of one importance run at once, and what becomes of the rest. */
import type { Clock } from "#lib/clock.ts";
import { timeoutMsOf } from "../deadlines.ts";
import { FairQueue, type FairQueueOptions } from "./fair-queue.ts";

/** The right to run; given back once. */
export interface Seat {
  release(): void;
}

/** Whoever may have to wait. The signal is asked for only then: making one costs. */
export interface Asker {
  readonly signal: AbortSignal;
  readonly query?: URLSearchParams;
}

export interface PriorityLevelOptions {
  readonly name: string;
  /** Its share of the server. */
  readonly seats: number;
  /** Of these, so many may be used by others while they are free. */
  readonly lendable: number;
  /** So many more it may use of what others do not need; no limit unless given. */
  readonly borrowable?: number;
  /** None: what has no seat is refused. */
  readonly queuing?: FairQueueOptions;
  /** Longer than that nothing waits; 15 seconds unless given. */
  readonly waitMsMax?: number;
}

/** What became of the requests of one importance since the start. */
export interface LevelCounts {
  dispatched: number;
  /** By reason, in upstream's words. */
  readonly rejected: Record<Rejection, number>;
}

export type Rejection = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

export function noCounts(): LevelCounts {
  const rejected = { "queue-full": 0, "concurrency-limit": 0, "time-out": 0, cancelled: 0 };
  return { dispatched: 0, rejected };
}

/** What all levels share: a level may use seats that the others do not need. */
export class SeatPool {
  readonly #levels = new Set<PriorityLevel>();

  add(level: PriorityLevel): void {
    this.#levels.add(level);
  }

  /**
   * Whether so many more may be taken beyond a level's own share: only as long as every other level
   * could still have what it never lends.
   */
  mayBorrow(borrower: PriorityLevel, seats: number): boolean {
    let free = 0;
    for (const level of this.#levels) {
      const kept = level.seats - level.lendable;
      const taken = level === borrower ? level.taken : Math.max(level.taken, kept);
      free += level.seats - taken;
    }
    return free >= seats;
  }

  /** A seat was given back: whoever waits for it, on any level, may go. */
  wake(): void {
    for (const level of this.#levels) level.admitWaiting();
  }
}

/** Of the time that a request has, this part may be spent on waiting. */
export const WAIT_PART = 0.25;
const WAIT_MS_MAX = 60_000 * WAIT_PART;
/** One request may take this part of a level at most. */
const WIDTH_MAX = 0.15;

export class PriorityLevel implements Seat {
  readonly name: string;
  readonly seats: number;
  readonly lendable: number;
  readonly counts: LevelCounts;
  /** The most that it may ever use. */
  readonly seatsMax: number;
  readonly #queue: FairQueue | undefined;
  readonly #pool: SeatPool;
  readonly #clock: Pick<Clock, "schedule">;
  readonly #waitMsMax: number;
  #taken = 0;
  #running = 0;

  constructor(
    options: PriorityLevelOptions,
    pool: SeatPool,
    clock: Pick<Clock, "schedule">,
    counts = noCounts(),
  ) {
    this.name = options.name;
    this.seats = options.seats;
    this.lendable = options.lendable;
    this.seatsMax = options.seats + (options.borrowable ?? Number.POSITIVE_INFINITY);
    this.counts = counts;
    this.#queue = options.queuing && new FairQueue(options.queuing);
    this.#pool = pool;
    this.#clock = clock;
    this.#waitMsMax = options.waitMsMax ?? WAIT_MS_MAX;
    pool.add(this);
  }

  /** Seats in use. */
  get taken(): number {
    return this.#taken;
  }

  /** Requests that run. */
  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue?.length ?? 0;
  }

  get queue(): FairQueue | undefined {
    return this.#queue;
  }

  /** A seat now or later; a text says why there is none: no room, or none came free in time. */
  enter(flow: string, asker: Asker, wide = 1): Seat | Rejection | Promise<Seat | Rejection> {
    const seats = wide === 1 ? 1 : Math.min(wide, Math.max(1, Math.ceil(this.seats * WIDTH_MAX)));
    if (this.waiting === 0 && this.#hasRoom(seats)) {
      this.#take(seats);
      return this.#seatOf(seats);
    }
    if (this.#queue === undefined) {
      this.counts.rejected["concurrency-limit"] += 1;
      return "concurrency-limit";
    }
    return this.#wait(this.#queue, flow, seats, asker);
  }

  release(): void {
    this.#giveBack(1);
  }

  admitWaiting(): void {
    for (;;) {
      const next = this.#queue?.peek();
      if (next === undefined || !this.#hasRoom(next.seats)) return;
      this.#take(next.seats);
      this.#queue?.shift()?.go();
    }
  }

  #take(seats: number): void {
    this.#taken += seats;
    this.#running += 1;
    this.counts.dispatched += 1;
  }

  #giveBack(seats: number): void {
    this.#taken -= seats;
    this.#running -= 1;
    this.#pool.wake();
  }

  /** Most requests take one: the level itself is their seat. */
  #seatOf(seats: number): Seat {
    return seats === 1 ? this : { release: () => this.#giveBack(seats) };
  }

  #hasRoom(seats: number): boolean {
    const after = this.#taken + seats;
    if (after <= this.seats) return true;
    return after <= this.seatsMax && this.#pool.mayBorrow(this, seats);
  }

  #wait(
    queue: FairQueue,
    flow: string,
    seats: number,
    { signal, query }: Asker,
  ): Promise<Seat | Rejection> {
    const askedMs = query === undefined ? 0 : timeoutMsOf(query) * WAIT_PART;
    const waitMs = askedMs > 0 ? Math.min(askedMs, this.#waitMsMax) : this.#waitMsMax;
    return new Promise((resolve) => {
      const finish = (seat: Seat | Rejection): void => {
        timer.cancel();
        signal.removeEventListener("abort", cancelled);
        if (typeof seat === "string") this.counts.rejected[seat] += 1;
        resolve(seat);
      };
      const waiting = { flow, seats, go: () => finish(this.#seatOf(seats)) };
      const giveUp = (why: Rejection): void => {
        queue.remove(waiting);
        finish(why);
      };
      const cancelled = (): void => giveUp("cancelled");
      const timer = this.#clock.schedule(waitMs, () => giveUp("time-out"));
      signal.addEventListener("abort", cancelled, { once: true });
      if (!queue.push(waiting)) finish("queue-full");
    });
  }
}
