/**
 * Which resource a key in the store belongs to. Custom resources have their group in the key; all
 * others are found in a table of the built-in kinds.
 */
import type { Kind } from "#api/kind.ts";
import { REGISTRY } from "../storage/resources.ts";
import type { GroupResource } from "./group-resource.ts";

export type ResourceOfKey = (key: string) => GroupResource | undefined;

/** The server's own records, under the names that upstream's rules `*.` and `*.*` cover. */
const OWN_RECORDS: readonly (readonly [place: string, resource: string])[] = [
  ["masterleases", "apiServerIPInfo"],
  ["ranges/serviceips", "serviceipallocations"],
  ["ranges/secondaryserviceips", "serviceipallocations"],
  ["ranges/servicenodeports", "servicenodeportallocations"],
];

export function resourcesByKey(kinds: Iterable<Kind>): ResourceOfKey {
  const byPlace = new Map<string, GroupResource>(
    OWN_RECORDS.map(([place, resource]) => [place, { group: "", resource }]),
  );
  for (const { group, names, storedAs, storagePath = names.plural } of kinds) {
    if (storedAs !== undefined) continue;
    byPlace.set(storagePath, { group, resource: names.plural });
  }
  return (key) => {
    if (!key.startsWith(REGISTRY)) return undefined;
    const first = slashAfter(key, REGISTRY.length);
    const known = byPlace.get(key.slice(REGISTRY.length, first));
    if (known !== undefined) return known;
    const second = slashAfter(key, first + 1);
    const place = key.slice(REGISTRY.length, second);
    const nested = byPlace.get(place);
    if (nested !== undefined) return nested;
    const group = key.slice(REGISTRY.length, first);
    return group.includes(".") ? { group, resource: key.slice(first + 1, second) } : undefined;
  };
}

function slashAfter(key: string, start: number): number {
  const at = key.indexOf("/", start);
  return at < 0 ? key.length : at;
}
