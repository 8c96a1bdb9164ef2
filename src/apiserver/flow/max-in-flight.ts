/** The simple way to limit requests: so many reads and so many writes at once, whoever asks. */
import { SYSTEM_MASTERS } from "../authz/chain.ts";
import type { RequestInfo } from "../request/request.ts";
import { isLongRunning, type TurnTaking } from "./concurrency-limiter.ts";
import type { Seat } from "./priority-level.ts";

export interface MaxInFlightOptions {
  readonly reads: number;
  readonly writes: number;
}

const READING = new Set(["get", "list", "watch"]);

/** Those who might have to mend an overloaded server are let in all the same. */
export function createMaxInFlight(options: MaxInFlightOptions): TurnTaking {
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
