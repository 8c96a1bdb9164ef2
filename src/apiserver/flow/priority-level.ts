/** How many requests of one importance run at once, and what becomes of the rest. */
import type { Clock } from "#lib/clock.ts";
import { FairQueue, type FairQueueOptions } from "./fair-queue.ts";

/** The right to run; given back once. */
export interface Seat {
  release(): void;
}

/** Whoever may have to wait. The signal is asked for only then: making one costs. */
export interface Asker {
  readonly signal: AbortSignal;
}

export interface PriorityLevelOptions {
  readonly name: string;
  /** Its share of the server. */
  readonly seats: number;
  /** Of these, so many may be used by others while they are free. */
  readonly lendable: number;
  /** None: what has no seat is refused. */
  readonly queuing?: FairQueueOptions;
}

/** What all levels share: a level may use seats that the others do not need. */
export class SeatPool {
  readonly #levels = new Set<PriorityLevel>();

  add(level: PriorityLevel): void {
    this.#levels.add(level);
  }

  /**
   * Whether one more may run beyond a level's own share: only as long as every other level could
   * still have what it never lends.
   */
  mayBorrow(borrower: PriorityLevel): boolean {
    let free = 0;
    for (const level of this.#levels) {
      const kept = level.seats - level.lendable;
      const taken = level === borrower ? level.running : Math.max(level.running, kept);
      free += level.seats - taken;
    }
    return free > 0;
  }

  /** A seat was given back: whoever waits for it, on any level, may go. */
  wake(): void {
    for (const level of this.#levels) level.admitWaiting();
  }
}

const WAIT_MS_MAX = 15_000;

export class PriorityLevel implements Seat {
  readonly name: string;
  readonly seats: number;
  readonly lendable: number;
  readonly #queue: FairQueue | undefined;
  readonly #pool: SeatPool;
  readonly #clock: Pick<Clock, "schedule">;
  #running = 0;

  constructor(options: PriorityLevelOptions, pool: SeatPool, clock: Pick<Clock, "schedule">) {
    this.name = options.name;
    this.seats = options.seats;
    this.lendable = options.lendable;
    this.#queue = options.queuing && new FairQueue(options.queuing);
    this.#pool = pool;
    this.#clock = clock;
    pool.add(this);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue?.length ?? 0;
  }

  /** A seat now or later; undefined: there is no room, or none came free in time. */
  enter(flow: string, asker: Asker): Seat | undefined | Promise<Seat | undefined> {
    if (this.waiting === 0 && this.#hasRoom()) {
      this.#running += 1;
      return this;
    }
    return this.#queue === undefined ? undefined : this.#wait(this.#queue, flow, asker.signal);
  }

  release(): void {
    this.#running -= 1;
    this.#pool.wake();
  }

  admitWaiting(): void {
    while (this.waiting > 0 && this.#hasRoom()) {
      this.#running += 1;
      this.#queue?.shift()?.go();
    }
  }

  #hasRoom(): boolean {
    return this.#running < this.seats || this.#pool.mayBorrow(this);
  }

  #wait(queue: FairQueue, flow: string, signal: AbortSignal): Promise<Seat | undefined> {
    return new Promise((resolve) => {
      const finish = (seat: Seat | undefined): void => {
        timer.cancel();
        signal.removeEventListener("abort", giveUp);
        resolve(seat);
      };
      const waiting = { go: () => finish(this) };
      const giveUp = (): void => {
        queue.remove(waiting);
        finish(undefined);
      };
      const timer = this.#clock.schedule(WAIT_MS_MAX, giveUp);
      signal.addEventListener("abort", giveUp, { once: true });
      if (!queue.push(flow, waiting)) finish(undefined);
    });
  }
}
