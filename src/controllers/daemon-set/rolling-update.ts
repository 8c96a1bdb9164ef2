/**
 * Replaces pods of an old template within the limits. Without surge the old pod goes first, as long
 * as few enough nodes are without an available one; with surge the new one comes first.
 */
import type { DaemonSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { scaledIntOrPercent } from "#api/meta/int-or-string.ts";
import { isAvailable } from "../shared/pods.ts";
import type { Changes, World } from "./manage-pods.ts";
import { isUpdated, placementOn } from "./placement.ts";

export function rollingUpdateOf(world: World): Changes {
  const { set, nodes } = world;
  const wanted = nodes.filter((node) => placementOn(node, set).starts);
  const names = new Set([
    ...world.podsByNode.keys(),
    ...wanted.map(({ metadata }) => metadata.name ?? ""),
  ]);
  const pairs = [...names].sort().map((name) => pairOn(name, world));
  const surge = surgeOf(set, wanted.length);
  if (surge > 0) return surging(world, pairs, surge, wanted.length);
  const { maxUnavailable } = set.spec.updateStrategy.rollingUpdate ?? {};
  return {
    createOn: [],
    remove: outgoing(pairs, Math.max(1, scaled(maxUnavailable, wanted.length))),
  };
}

export function surgeOf({ spec }: DaemonSet, wanted: number): number {
  if (spec.updateStrategy.type !== "RollingUpdate") return 0;
  return scaled(spec.updateStrategy.rollingUpdate?.maxSurge, wanted);
}

function scaled(value: number | string | undefined, total: number): number {
  const result = scaledIntOrPercent(value ?? 0, total, "up");
  return result.ok ? result.value : 0;
}

/** The pods of a node that are not on their way out. */
interface Pair {
  readonly node: string;
  readonly old?: Pod;
  readonly next?: Pod;
  /** Several pods of the same kind on the node: `managePods` removes the surplus first. */
  readonly isCrowded: boolean;
  readonly isAvailable: boolean;
  readonly isNextAvailable: boolean;
}

function pairOn(node: string, { set, podsByNode, hash, nowMs }: World): Pair {
  const staying = (podsByNode.get(node) ?? []).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
  const next = staying.filter((pod) => isUpdated(pod, set, hash));
  const old = staying.filter((pod) => !isUpdated(pod, set, hash));
  const available = (pod: Pod | undefined): boolean =>
    pod !== undefined && isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  return {
    node,
    ...(old[0] === undefined ? {} : { old: old[0] }),
    ...(next[0] === undefined ? {} : { next: next[0] }),
    isCrowded: next.length > 1 || old.length > 1,
    isAvailable: available(old[0] ?? next[0]),
    isNextAvailable: available(next[0]),
  };
}

function outgoing(pairs: readonly Pair[], maxUnavailable: number): readonly Pod[] {
  const isOnlyOld = ({ old, next, isCrowded }: Pair): boolean =>
    !isCrowded && old !== undefined && next === undefined;
  const unavailable = pairs.filter(
    (pair) =>
      pair.isCrowded || !pair.isAvailable || (pair.old !== undefined && pair.next !== undefined),
  ).length;
  const outdated = pairs.filter(isOnlyOld);
  // Replacing what is not available costs nothing.
  const broken = outdated.filter((pair) => !pair.isAvailable);
  const room = Math.max(0, maxUnavailable - unavailable);
  const candidates = outdated.filter((pair) => pair.isAvailable).slice(0, room);
  return [...broken, ...candidates].map(({ old }) => old!);
}

function surging(
  { set, nodes }: World,
  pairs: readonly Pair[],
  maxSurge: number,
  wanted: number,
): Changes {
  const byName = new Map(nodes.map((node) => [node.metadata.name ?? "", node]));
  const belongs = (name: string): boolean => {
    const node = byName.get(name);
    return node !== undefined && placementOn(node, set).starts;
  };
  const sound = pairs.filter(({ isCrowded }) => !isCrowded);
  const surged = sound.filter(({ old, next }) => old !== undefined && next !== undefined);
  const outdated = sound.filter(({ old, next }) => old !== undefined && next === undefined);
  const inSurge = pairs.length - sound.length + surged.filter((p) => !p.isNextAvailable).length;
  const here = outdated.filter(({ node }) => belongs(node));
  const strays = outdated.filter(({ node }) => !belongs(node));
  const urgent = here.filter((pair) => !pair.isAvailable);
  const room = Math.max(0, maxSurge - inSurge);
  const candidates = here.filter((pair) => pair.isAvailable).slice(0, room);
  // Where no pod belongs any more, an available one goes only when enough others are available.
  const spare = Math.max(0, sound.filter((pair) => pair.isAvailable).length - wanted);
  const gone = [
    ...surged.filter((pair) => pair.isNextAvailable),
    ...strays.filter((pair) => !pair.isAvailable),
    ...strays.filter((pair) => pair.isAvailable).slice(0, spare),
  ];
  return {
    createOn: [...urgent, ...candidates].map(({ node }) => node),
    remove: gone.map(({ old }) => old!),
  };
}
