/** Limits concurrent reads and writes without priority levels (`--enable-priority-and-fairness=false`). */
import { SYSTEM_MASTERS } from "../authz/chain.ts";
import type { RequestInfo } from "../request/request.ts";
import { type ConcurrencyLimiter, isLongRunning } from "./concurrency-limiter.ts";
import type { Seat } from "./priority-level.ts";

export interface MaxInFlightOptions {
  readonly reads: number;
  readonly writes: number;
}

const READING = new Set(["get", "list", "watch"]);

/** Members of system:masters are not limited, so that they can repair an overloaded server. */
export function createMaxInFlight(options: MaxInFlightOptions): ConcurrencyLimiter {
  const lanes = { reads: new Lane(options.reads), writes: new Lane(options.writes) };
  return {
    admit: (user, info) => {
      const lane = READING.has(info.verb) ? lanes.reads : lanes.writes;
      const exempt = isLongRunning(info) || isHealth(info) || user.groups.includes(SYSTEM_MASTERS);
      if (exempt) return { outcome: "admitted", seat: NO_SEAT };
      return lane.enter()
        ? { outcome: "admitted", seat: lane }
        : { outcome: "refused", retryAfterSeconds: 1 };
    },
  };
}

const NO_SEAT: Seat = { release: () => undefined };

function isHealth({ isResource, path }: RequestInfo): boolean {
  return !isResource && /^\/(healthz|livez|readyz)(\/|$)/.test(path);
}

class Lane implements Seat {
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  enter(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  release(): void {
    this.#free += 1;
  }
}
