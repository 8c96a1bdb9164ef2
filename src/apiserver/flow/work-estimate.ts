/**
 * Estimates the seats of a request. Lists, and watches with initial events, take seats by the bytes
 * they send; writes take seats for a while afterwards, while watchers are notified.
 */
import type { RequestInfo } from "../request/request.ts";

const BYTES_PER_SEAT = 100_000;
/** More is never in memory at once: long responses are sent in chunks. */
const BYTES_AT_ONCE = 1_000_000;
const WATCHERS_PER_SEAT = 10;
const MS_PER_SEAT_OF_WATCHERS = 5;
const SEATS_AFTER_MAX = 10;

export interface ResourceStats {
  readonly count: number;
  /** Of all of them. */
  readonly bytes: number;
  readonly watchers: number;
}

export interface Work {
  readonly seats: number;
  /** Held for so long after the answer; the client does not wait for that. */
  readonly after?: { readonly seats: number; readonly ms: number };
}

/** The number of watchers that a write notifies; undefined if the request is no write. */
export function watchersOf(
  { verb, group, resource, subresource }: RequestInfo,
  statsOf: (group: string, resource: string) => ResourceStats | undefined,
): number | undefined {
  if (!WRITING.has(verb) || subresource === "token") return undefined;
  return statsOf(group, resource)?.watchers ?? 0;
}

const WRITING: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

export const ONE_SEAT: Work = { seats: 1 };

/** `seatsMax`: so many a request of its level may have. */
export function estimateWork(
  info: RequestInfo,
  query: URLSearchParams | undefined,
  statsOf: (group: string, resource: string) => ResourceStats | undefined,
  seatsMax: number,
): Work {
  switch (info.verb) {
    case "list":
    case "watch":
      return info.verb === "list" || startsWithState(query) ? listing(info, query) : ONE_SEAT;
    default:
      return writing(watchersOf(info, statsOf) ?? 0);
  }

  function listing({ name, group, resource }: RequestInfo, asked?: URLSearchParams): Work {
    const stats = statsOf(group, resource);
    if (stats === undefined || stats.count === 0) return ONE_SEAT;
    const limit = Number(asked?.get("limit") ?? "") || stats.count;
    const sent = name === "" ? Math.min(limit, stats.count) : 1;
    const bytes = Math.min((sent * stats.bytes) / stats.count, BYTES_AT_ONCE);
    const seats = Math.min(Math.ceil(bytes / BYTES_PER_SEAT), seatsMax);
    return seats <= 1 ? ONE_SEAT : { seats };
  }

  function writing(watchers: number): Work {
    if (watchers < WATCHERS_PER_SEAT) return ONE_SEAT;
    const wanted = Math.ceil(watchers / WATCHERS_PER_SEAT);
    const seats = Math.min(wanted, seatsMax, SEATS_AFTER_MAX);
    // Of the same area: fewer seats are held for longer.
    return { seats: 1, after: { seats, ms: (wanted * MS_PER_SEAT_OF_WATCHERS) / seats } };
  }
}

function startsWithState(query: URLSearchParams | undefined): boolean {
  const initial = query?.get("sendInitialEvents") ?? "";
  if (initial !== "") return initial !== "false" && initial !== "0";
  const from = query?.get("resourceVersion") ?? "";
  return from === "" || from === "0";
}
