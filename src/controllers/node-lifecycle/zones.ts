/**
 * Drives pods off nodes that are not ready, by a taint that does not let them run, zone by zone: one
 * node every so often, slower where much of a zone is lost, and not at all where everything is (then
 * the fault is most likely ours). Nodes that are ready lose the taint at once.
 */

import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { timeToMs } from "#api/meta/time.ts";
import {
  type Change,
  type Controller,
  defineController,
  type Key,
  type Outcome,
} from "#runtime/controller.ts";
import { update, type Write } from "#runtime/writes.ts";
import { measureZones } from "../metrics/nodes.ts";
import { evictingTaint, NOT_READY, readyStatus, UNREACHABLE, withEvictingTaint } from "./taints.ts";

const EXCLUDED = "node.kubernetes.io/exclude-disruption";
/** All zones are looked at together: whether everything is lost takes all of them. */
const ALL: Key = { name: "zones" };
const PARTIAL_MIN = 3;
/** Upstream looks as often. Thousands of nodes that come up together are looked at once, not each. */
const MERGE_MS = 100;

export interface EvictionOptions {
  /** Nodes a second, in a zone that is well. */
  readonly rate: number;
  /** Nodes a second, in a large zone that is not. In a small one it is none. */
  readonly secondaryRate: number;
  readonly largeZoneMin: number;
  /** The share of lost nodes at which a zone is not well. */
  readonly unhealthyShare: number;
}

/** When a node of each zone was last tainted. */
type LastTainted = Readonly<Record<string, number>>;

export interface ZonesState {
  readonly nodes: readonly Node[];
  readonly lastTainted: LastTainted;
}

export function nodeEviction(options: EvictionOptions): Controller<ZonesState, LastTainted> {
  return defineController<ZonesState, LastTainted>({
    name: "node-lifecycle-controller",
    rule: "nodes that are not ready or not reachable get NoExecute taints, at a rate that depends on the zone",
    component: "node-controller",
    workers: 1,
    feeds: [{ kind: nodeKind, keys: () => [ALL], keysOfChange, delayMs: MERGE_MS }],
    observe: (caches, _key, _reader, lastTainted = {}) => ({
      nodes: [...caches(nodeKind).list()],
      lastTainted,
    }),
    decide: (state, nowMs) => decide(state, options, nowMs),
    measure: measureZones({ zoneOf, isReady: (node) => readyStatus(node) === "True" }),
  });
}

/** Heartbeats are many and mean nothing here. */
function keysOfChange({ next, old }: Change<Node>): readonly Key[] {
  if (next === undefined || old === undefined) return [ALL];
  const isSame =
    readyStatus(next) === readyStatus(old) &&
    evictingTaint(next) === evictingTaint(old) &&
    zoneOf(next) === zoneOf(old);
  return isSame ? [] : [ALL];
}

export function decide(
  state: ZonesState,
  options: EvictionOptions,
  nowMs: number,
): Outcome<LastTainted> {
  const zones = zonesOf(state.nodes);
  const states = new Map([...zones].map(([zone, nodes]) => [zone, stateOf(nodes, options)]));
  const counted = [...states.values()].filter((is) => is !== "empty");
  if (counted.length > 0 && counted.every((is) => is === "lost")) {
    const spared = state.nodes.filter((node) => evictingTaint(node) !== undefined);
    const writes = spared.map((node) =>
      update(nodeKind, withEvictingTaint(node, undefined, nowMs)),
    );
    return { writes: [writes], because: "no node is ready" };
  }
  const writes = state.nodes.filter(isMistainted).map((node) => taint(node, nowMs));
  const lastTainted: Record<string, number> = {};
  const rechecks: number[] = [];
  for (const [zone, nodes] of zones) {
    const lastMs = state.lastTainted[zone];
    if (lastMs !== undefined) lastTainted[zone] = lastMs;
    const rate = rateOf(states.get(zone)!, nodes.length, options);
    const [first, ...rest] = rate <= 0 ? [] : waiting(nodes);
    if (first === undefined) continue;
    const waitMs = lastMs === undefined ? 0 : Math.max(0, lastMs + 1000 / rate - nowMs);
    if (waitMs > 0) rechecks.push(waitMs);
    else {
      writes.push(taint(first, nowMs));
      lastTainted[zone] = nowMs;
      if (rest.length > 0) rechecks.push(1000 / rate);
    }
  }
  const outcome = { writes: writes.length === 0 ? [] : [writes], remember: lastTainted };
  return rechecks.length === 0 ? outcome : { ...outcome, recheckInMs: Math.min(...rechecks) };
}

/** A first taint waits for its turn; that another takes its place, or none, does not. */
function isMistainted(node: Node): boolean {
  const actual = evictingTaint(node);
  return actual !== undefined && actual !== wantedTaint(node);
}

function taint(node: Node, nowMs: number): Write {
  return update(nodeKind, withEvictingTaint(node, wantedTaint(node), nowMs));
}

function zonesOf(nodes: readonly Node[]): ReadonlyMap<string, readonly Node[]> {
  const zones = new Map<string, Node[]>();
  for (const node of nodes) {
    const zone = zoneOf(node);
    const known = zones.get(zone);
    if (known === undefined) zones.set(zone, [node]);
    else known.push(node);
  }
  return zones;
}

type ZoneHealth = "empty" | "well" | "partly lost" | "lost";

function stateOf(nodes: readonly Node[], { unhealthyShare }: EvictionOptions): ZoneHealth {
  const counted = nodes.filter(({ metadata }) => metadata.labels?.[EXCLUDED] === undefined);
  if (counted.length === 0) return "empty";
  const lost = counted.filter((node) => readyStatus(node) !== "True").length;
  if (lost === counted.length) return "lost";
  return lost >= PARTIAL_MIN && lost / counted.length >= unhealthyShare ? "partly lost" : "well";
}

function rateOf(state: ZoneHealth, size: number, options: EvictionOptions): number {
  if (state !== "partly lost") return options.rate;
  return size > options.largeZoneMin ? options.secondaryRate : 0;
}

/** Nodes that are to be tainted and are not, in the order in which they were lost. */
function waiting(nodes: readonly Node[]): readonly Node[] {
  return nodes
    .filter((node) => wantedTaint(node) !== undefined && evictingTaint(node) === undefined)
    .sort((a, b) => lostAtMs(a) - lostAtMs(b));
}

function lostAtMs({ status }: Node): number {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return timeToMs(ready?.lastTransitionTime ?? "1970-01-01T00:00:00Z");
}

function wantedTaint(node: Node): string | undefined {
  const ready = readyStatus(node);
  if (ready === "False") return NOT_READY;
  return ready === "Unknown" ? UNREACHABLE : undefined;
}

function zoneOf({ metadata: { labels = {} } }: Node): string {
  const zone =
    labels["failure-domain.beta.kubernetes.io/zone"] ?? labels["topology.kubernetes.io/zone"] ?? "";
  const region =
    labels["failure-domain.beta.kubernetes.io/region"] ??
    labels["topology.kubernetes.io/region"] ??
    "";
  return region === "" && zone === "" ? "" : `${region}:\0:${zone}`;
}
