/** How much of the server one request takes: lists of many objects take more than one seat. */
import type { RequestInfo } from "../request.ts";

const OBJECTS_PER_SEAT = 100;
const SEATS_MAX = 10;

/** `countOf`: how many objects of a resource there are. */
export function seatsFor(
  { verb, name, group, resource }: RequestInfo,
  query: URLSearchParams | undefined,
  countOf: (group: string, resource: string) => number,
): number {
  if (verb !== "list" || name !== "") return 1;
  const count = countOf(group, resource);
  if (count <= OBJECTS_PER_SEAT) return 1;
  const limit = Number(query?.get("limit") ?? "") || count;
  const seats = Math.ceil(Math.min(limit, count) / OBJECTS_PER_SEAT);
  return Math.max(1, Math.min(seats, SEATS_MAX));
}
