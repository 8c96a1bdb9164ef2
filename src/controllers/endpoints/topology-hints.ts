/**
 * Hints that split the endpoints of a service among zones in proportion to the zones' processors, so
 * that traffic can stay in its zone without overloading a small one. Slices that do not change keep
 * the hints they have, as long as these are within bounds.
 */
import type { Node } from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { parseQuantity, quantityMilliValue } from "#api/meta/quantity.ts";
import type { SliceDraft } from "./slice-object.ts";
import { isSameEndpoint } from "./slice-plan.ts";

export const ZONE = "topology.kubernetes.io/zone";
const EXCLUDED = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
/** By how much of its share a zone may be overloaded. */
const OVERLOAD = 0.2;

/** Each zone's share of the CPUs of all ready nodes; undefined if a node lacks its zone or CPUs. */
export function zoneShares(nodes: Iterable<Node>): ReadonlyMap<string, number> | undefined {
  const milliCpu = new Map<string, number>();
  let total = 0;
  for (const { metadata, status } of nodes) {
    const { labels = {} } = metadata;
    const isReady = status.conditions?.some((c) => c.type === "Ready" && c.status === "True");
    if (isReady !== true || EXCLUDED.some((label) => Object.hasOwn(labels, label))) continue;
    const parsed = parseQuantity(status.allocatable?.cpu ?? "0");
    const cpu = parsed.ok ? quantityMilliValue(parsed.value) : 0;
    const zone = labels[ZONE] ?? "";
    if (zone === "" || cpu === 0) return undefined;
    milliCpu.set(zone, (milliCpu.get(zone) ?? 0) + cpu);
    total += cpu;
  }
  if (milliCpu.size < 2) return undefined;
  return new Map([...milliCpu].map(([zone, cpu]) => [zone, cpu / total]));
}

export type ZoneHints =
  | { readonly ok: true; readonly drafts: readonly SliceDraft[] }
  | { readonly ok: false; readonly why: string };

interface Bounds {
  readonly minimum: number;
  readonly desired: number;
  readonly maximum: number;
}

export function withZoneHints(
  drafts: readonly SliceDraft[],
  shares: ReadonlyMap<string, number> | undefined,
): ZoneHints {
  if (shares === undefined) {
    const why =
      "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
    return { ok: false, why };
  }
  const total = drafts.flatMap(({ slice }) => slice.endpoints ?? []).filter(isReady).length;
  const counts = `(${total} endpoints, ${shares.size} zones)`;
  if (shares.size > total) return { ok: false, why: `Insufficient number of endpoints ${counts}` };
  const bounds = boundsOf(shares, total);
  if (bounds === undefined) {
    const why = `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${counts}`;
    return { ok: false, why };
  }
  const allocated = new Map<string, number>();
  const settled = new Set(drafts.filter((draft) => settle(draft, bounds, allocated)));
  const open = drafts.filter((draft) => !settled.has(draft));
  const ready = open.flatMap(({ slice }) => slice.endpoints ?? []).filter(isReady);
  if (ready.some(({ zone = "" }) => zone === "")) {
    return { ok: false, why: "One or more endpoints do not have a zone specified" };
  }
  const zones = new Map(ready.map((endpoint) => [endpoint, endpoint.zone!]));
  for (const zone of zones.values()) allocated.set(zone, (allocated.get(zone) ?? 0) + 1);
  redistribute(zones, movesBetween(bounds, allocated));
  return { ok: true, drafts: drafts.map((draft) => hinted(draft, settled.has(draft), zones)) };
}

function boundsOf(
  shares: ReadonlyMap<string, number>,
  total: number,
): ReadonlyMap<string, Bounds> | undefined {
  const minimums = new Map(
    [...shares].map(([zone, share]) => [zone, Math.ceil((share * total) / (1 + OVERLOAD))]),
  );
  const needed = [...minimums.values()].reduce((sum, n) => sum + n, 0);
  if (needed > total) return undefined;
  return new Map(
    [...shares].map(([zone, share]) => {
      const minimum = minimums.get(zone)!;
      const desired = Math.max(share * total, minimum);
      return [zone, { minimum, desired, maximum: minimum + total - needed }];
    }),
  );
}

/** Whether a slice that does not change can keep its hints; if so, they are counted. */
function settle(
  { slice, old }: SliceDraft,
  bounds: ReadonlyMap<string, Bounds>,
  allocated: Map<string, number>,
): boolean {
  if (old === undefined || !hasSameEndpoints(slice, old)) return false;
  const own = new Map<string, number>();
  for (const { hints } of (old.endpoints ?? []).filter(isReady)) {
    const zones = (hints?.forZones ?? []).map(({ name }) => name);
    if (zones.length === 0 || zones.some((zone) => !bounds.has(zone))) return false;
    for (const zone of zones) own.set(zone, (own.get(zone) ?? 0) + 1);
  }
  const fits = [...own].every(
    ([zone, n]) => n + (allocated.get(zone) ?? 0) <= bounds.get(zone)!.maximum,
  );
  if (!fits) return false;
  for (const [zone, n] of own) allocated.set(zone, (allocated.get(zone) ?? 0) + n);
  return true;
}

/** Which zone should serve for which, one endpoint a move, from the richest to the poorest. */
function movesBetween(
  bounds: ReadonlyMap<string, Bounds>,
  allocated: ReadonlyMap<string, number>,
): readonly { readonly from: string; readonly to: string }[] {
  const surplus = new Map(
    [...bounds].map(([zone, { desired }]) => [zone, (allocated.get(zone) ?? 0) - desired]),
  );
  const moves: { from: string; to: string }[] = [];
  for (;;) {
    const ranked = [...surplus].sort(([, a], [, b]) => b - a);
    const [from, given] = ranked[0]!;
    const [to, lacking] = ranked.at(-1)!;
    const isWorthIt = given >= 0.5 && -lacking >= 0.5 && (given >= 1 || -lacking >= 1);
    if (!isWorthIt) return moves;
    moves.push({ from, to });
    surplus.set(from, given - 1);
    surplus.set(to, lacking + 1);
  }
}

function redistribute(
  zones: Map<Endpoint, string>,
  moves: readonly { readonly from: string; readonly to: string }[],
): void {
  for (const { from, to } of moves) {
    const found = [...zones].find(([endpoint, zone]) => endpoint.zone === from && zone === from);
    if (found !== undefined) zones.set(found[0], to);
  }
}

function hinted(
  { slice, old }: SliceDraft,
  isSettled: boolean,
  zones: ReadonlyMap<Endpoint, string>,
): SliceDraft {
  const endpoints = (slice.endpoints ?? []).map((endpoint, i) => {
    const hints = isSettled ? old?.endpoints?.[i]?.hints : undefined;
    const zone = zones.get(endpoint);
    if (hints !== undefined) return { ...endpoint, hints };
    return zone === undefined ? endpoint : { ...endpoint, hints: { forZones: [{ name: zone }] } };
  });
  return { slice: { ...slice, endpoints }, ...(old === undefined ? {} : { old }) };
}

function hasSameEndpoints(a: EndpointSlice, b: EndpointSlice): boolean {
  const [first, second] = [a.endpoints ?? [], b.endpoints ?? []];
  return first.length === second.length && first.every((one, i) => isSameEndpoint(one, second[i]!));
}

function isReady({ conditions }: Endpoint): boolean {
  return conditions.ready === true;
}
