/** How many requests of one importance run at once, and what becomes of the rest. */

import type { Histogram } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import { timeoutMsOf } from "../http/deadlines.ts";
import { FairQueue, type FairQueueOptions } from "./fair-queue.ts";
import { ONE_SEAT, type Work } from "./work-estimate.ts";

/** The right to run; given back once. */
export interface Seat {
  release(): void;
}

/** The request that may have to wait. Its signal is read only then, because creating one is expensive. */
export interface Requester {
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

/** What became of the requests of one flow schema at one level since the start, and what is of them now. */
export interface LevelCounts {
  dispatched: number;
  running: number;
  waiting: number;
  waitingSeats: number;
  /** In use, also for a while after a write. */
  seats: number;
  /** Observes each request, if metrics are wanted. */
  metrics?: {
    /** How long they waited, to run or to be refused. */
    readonly run: Histogram;
    readonly refused: Histogram;
    /** How many seats they take. */
    readonly seats: Histogram;
    /** How long the queue was that one joined. */
    readonly joined: Histogram;
    /** How many watch what one writes. */
    readonly watchers: Histogram;
    /** How long they were worked on. */
    executed(verb: string): Histogram;
  };
  /** By reason, in upstream's words. */
  readonly rejected: Record<Rejection, number>;
}

export type Rejection = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

export function noCounts(): LevelCounts {
  const rejected = { "queue-full": 0, "concurrency-limit": 0, "time-out": 0, cancelled: 0 };
  return { dispatched: 0, running: 0, waiting: 0, waitingSeats: 0, seats: 0, rejected };
}

/** Where requests of one flow schema enter a level. */
export interface Entrance {
  readonly counts: LevelCounts;
  /** What most of them get: one object for all. */
  readonly single: Seat;
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

  /** A seat was released: queued requests of any level may be dispatched. */
  wake(): void {
    for (const level of this.#levels) level.admitWaiting();
  }
}

/** Of the time that a request has, this part may be spent on waiting. */
export const WAIT_PART = 0.25;
const WAIT_MS_MAX = 60_000 * WAIT_PART;
/** One request may take this part of a level at most. */
const WIDTH_PART = 0.15;

export class PriorityLevel {
  readonly name: string;
  readonly seats: number;
  readonly lendable: number;
  /** The most that one request may have. */
  readonly widthMax: number;
  /** The most that it may ever use. */
  readonly seatsMax: number;
  readonly #queue: FairQueue | undefined;
  readonly #pool: SeatPool;
  readonly #clock: Pick<Clock, "schedule" | "elapsedMs">;
  readonly #waitMsMax: number;
  #taken = 0;
  #running = 0;

  constructor(
    options: PriorityLevelOptions,
    pool: SeatPool,
    clock: Pick<Clock, "schedule" | "elapsedMs">,
  ) {
    this.name = options.name;
    this.seats = options.seats;
    this.lendable = options.lendable;
    this.seatsMax = options.seats + (options.borrowable ?? Number.POSITIVE_INFINITY);
    const { handSize = 1 } = options.queuing ?? {};
    const part = Math.min(Math.ceil(this.seats * WIDTH_PART), Math.floor(this.seats / handSize));
    this.widthMax = Math.max(1, part);
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

  entrance(counts: LevelCounts): Entrance {
    return { counts, single: { release: () => this.#giveBack(1, counts) } };
  }

  /** A seat now or later; a text says why there is none: no room, or none came free in time. */
  enter(
    flow: string,
    entrance: Entrance,
    asker: Requester,
    work: Work = ONE_SEAT,
  ): Seat | Rejection | Promise<Seat | Rejection> {
    const seats = Math.max(work.seats, work.after?.seats ?? 1);
    if (this.waiting === 0 && this.#hasRoom(seats)) {
      entrance.counts.metrics?.run.observe(0);
      this.#take(seats, entrance);
      return this.#seatOf(entrance, work);
    }
    if (this.#queue === undefined) {
      entrance.counts.rejected["concurrency-limit"] += 1;
      entrance.counts.metrics?.refused.observe(0);
      return "concurrency-limit";
    }
    return this.#wait(this.#queue, { flow, entrance, asker, seats, work });
  }

  admitWaiting(): void {
    for (;;) {
      const next = this.#queue?.peek();
      if (next === undefined || !this.#hasRoom(next.seats)) return;
      this.#queue?.shift()?.go();
    }
  }

  #take(seats: number, { counts }: Entrance): void {
    this.#taken += seats;
    this.#running += 1;
    counts.running += 1;
    counts.seats += seats;
    counts.dispatched += 1;
  }

  #giveBack(seats: number, counts: LevelCounts): void {
    this.#running -= 1;
    counts.running -= 1;
    this.#free(seats, counts);
  }

  #free(seats: number, counts: LevelCounts): void {
    counts.seats -= seats;
    this.#taken -= seats;
    this.#pool.wake();
  }

  #seatOf({ single, counts }: Entrance, { seats, after }: Work): Seat {
    if (after === undefined) {
      return seats === 1 ? single : { release: () => this.#giveBack(seats, counts) };
    }
    return {
      release: () => {
        this.#giveBack(Math.max(0, seats - after.seats), counts);
        this.#clock.schedule(after.ms, () => this.#free(after.seats, counts));
      },
    };
  }

  #hasRoom(seats: number): boolean {
    const after = this.#taken + seats;
    if (after <= this.seats) return true;
    return after <= this.seatsMax && this.#pool.mayBorrow(this, seats);
  }

  #wait(queue: FairQueue, request: WaitingRequest): Promise<Seat | Rejection> {
    const { flow, seats, entrance, work } = request;
    const { signal, query } = request.asker;
    const { counts } = entrance;
    const askedMs = query === undefined ? 0 : timeoutMsOf(query) * WAIT_PART;
    const waitMs = askedMs > 0 ? Math.min(askedMs, this.#waitMsMax) : this.#waitMsMax;
    const startMs = this.#clock.elapsedMs();
    return new Promise((resolve) => {
      const finish = (seat: Seat | Rejection): void => {
        const seconds = (this.#clock.elapsedMs() - startMs) / 1000;
        counts.metrics?.[typeof seat === "string" ? "refused" : "run"].observe(seconds);
        timer.cancel();
        signal.removeEventListener("abort", cancelled);
        counts.waiting -= 1;
        counts.waitingSeats -= seats;
        if (typeof seat === "string") counts.rejected[seat] += 1;
        resolve(seat);
      };
      const go = (): void => {
        this.#take(seats, entrance);
        finish(this.#seatOf(entrance, work));
      };
      const waiting = { flow, seats, go };
      const giveUp = (why: Rejection): void => {
        queue.remove(waiting);
        finish(why);
      };
      const cancelled = (): void => giveUp("cancelled");
      const timer = this.#clock.schedule(waitMs, () => giveUp("time-out"));
      signal.addEventListener("abort", cancelled, { once: true });
      counts.waiting += 1;
      counts.waitingSeats += seats;
      const length = queue.push(waiting);
      if (length === undefined) finish("queue-full");
      else counts.metrics?.joined.observe(length);
    });
  }
}

interface WaitingRequest {
  readonly flow: string;
  readonly entrance: Entrance;
  readonly asker: Requester;
  readonly seats: number;
  readonly work: Work;
}
