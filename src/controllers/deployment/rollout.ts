/**
 * How large each ReplicaSet of a Deployment should be. Every function takes the sets as they are and
 * returns sizes by uid, without writing anything.
 */
import type { Deployment, ReplicaSet } from "#api/generated/apps.v1.ts";
import { annotatedDesired, annotatedMax } from "./revisions.ts";
import { desiredReplicas, isRolling, maxSurge, minAvailable } from "./strategy.ts";

export type Sizes = ReadonlyMap<string, number>;

export interface Sets {
  /** The set of the current template, if there is one. */
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

export function sizeOf({ spec }: ReplicaSet): number {
  return spec.replicas ?? 1;
}

export function totalSize(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, set) => sum + sizeOf(set), 0);
}

export function allOf({ current, old }: Sets): readonly ReplicaSet[] {
  return current === undefined ? old : [...old, current];
}

/** How far the current set may grow: up to the wanted size, and within the surge. */
export function currentSizeWanted(
  deployment: Deployment,
  sets: readonly ReplicaSet[],
  size: number,
): number {
  const wanted = desiredReplicas(deployment);
  if (!isRolling(deployment)) return wanted;
  const room = wanted + maxSurge(deployment) - totalSize(sets);
  return room <= 0 ? size : size + Math.min(room, wanted - size);
}

/** One step of a rolling update: grow the current set, or else shrink the old ones. */
export function rollingStep(deployment: Deployment, { current, old }: Sets): Sizes {
  if (current === undefined) return new Map();
  const wanted = desiredReplicas(deployment);
  const size = sizeOf(current);
  const all = [...old, current];
  if (size !== wanted) {
    const next = size > wanted ? wanted : currentSizeWanted(deployment, all, size);
    if (next !== size) return new Map([[uidOf(current), next]]);
  }
  return shrinkOld(deployment, current, old);
}

/** Scales old sets down as far as enough pods stay available; unhealthy pods first. */
function shrinkOld(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): Sizes {
  const active = old.filter((set) => sizeOf(set) > 0).sort(byAge);
  if (active.length === 0) return new Map();
  const currentUnavailable = sizeOf(current) - available(current);
  const most = totalSize([...active, current]) - minAvailable(deployment) - currentUnavailable;
  if (most <= 0) return new Map();

  const sizes = new Map(active.map((set) => [uidOf(set), sizeOf(set)]));
  const shrink = (room: number, shrinkable: (set: ReplicaSet, size: number) => number): number => {
    let left = room;
    for (const set of active) {
      const size = sizes.get(uidOf(set))!;
      const by = Math.max(0, Math.min(left, shrinkable(set, size)));
      sizes.set(uidOf(set), size - by);
      left -= by;
    }
    return room - left;
  };
  shrink(most, (set, size) => size - available(set));
  const availableNow = [...active, current].reduce((sum, set) => sum + available(set), 0);
  shrink(availableNow - minAvailable(deployment), (_, size) => size);
  return new Map(
    [...sizes].filter(([uid, size]) => size !== sizeOf(active.find((s) => uidOf(s) === uid)!)),
  );
}

/** A scaled Deployment in the middle of a rollout: the change is spread in proportion to the sizes. */
export function proportionalSizes(deployment: Deployment, sets: Sets): Sizes {
  const single = activeOrNewest(sets);
  const wanted = desiredReplicas(deployment);
  if (single !== undefined) {
    const isSo = sizeOf(single) === wanted && annotatedDesired(single) === wanted;
    return isSo ? new Map() : new Map([[uidOf(single), wanted]]);
  }
  const { current, old } = sets;
  const activeOld = old.filter((set) => sizeOf(set) > 0);
  if (current !== undefined && isSaturated(deployment, current)) {
    return new Map(activeOld.map((set) => [uidOf(set), 0]));
  }
  if (!isRolling(deployment)) return new Map();

  const active = allOf(sets).filter((set) => sizeOf(set) > 0);
  const allowed = wanted > 0 ? wanted + maxSurge(deployment) : 0;
  const toAdd = allowed - totalSize(active);
  // The larger first; among equals the newer grow and the older shrink first.
  const ordered = [...active].sort(
    (a, b) => sizeOf(b) - sizeOf(a) || (toAdd > 0 ? byAge(b, a) : byAge(a, b)),
  );
  let added = 0;
  const sizes = new Map<string, number>();
  for (const set of ordered) {
    const share = toAdd === 0 ? 0 : shareOf(deployment, set, toAdd - added, toAdd);
    sizes.set(uidOf(set), sizeOf(set) + share);
    added += share;
  }
  const first = ordered[0];
  if (first !== undefined && toAdd !== added) {
    sizes.set(uidOf(first), Math.max(0, sizes.get(uidOf(first))! + toAdd - added));
  }
  return sizes;
}

function shareOf(deployment: Deployment, set: ReplicaSet, left: number, toAdd: number): number {
  if (left === 0) return 0;
  const fraction = fractionOf(deployment, set);
  return toAdd > 0 ? Math.min(fraction, left) : Math.max(fraction, left);
}

/** By how much the set would change if it kept its share of the whole. */
function fractionOf(deployment: Deployment, set: ReplicaSet): number {
  const wanted = desiredReplicas(deployment);
  const size = sizeOf(set);
  if (wanted === 0) return -size;
  const before = annotatedMax(set) || (deployment.status.replicas ?? 0);
  if (before === 0) return 0;
  return roundHalfAway((size * (wanted + maxSurge(deployment))) / before) - size;
}

/** The one set that has pods, or the newest if none has; undefined if several have. */
function activeOrNewest({ current, old }: Sets): ReplicaSet | undefined {
  const newestFirst = [...old].sort((a, b) => byAge(b, a));
  const active = [...newestFirst, ...(current === undefined ? [] : [current])].filter(
    (set) => sizeOf(set) > 0,
  );
  if (active.length > 1) return undefined;
  return active[0] ?? current ?? newestFirst[0];
}

function isSaturated(deployment: Deployment, set: ReplicaSet): boolean {
  const wanted = desiredReplicas(deployment);
  return sizeOf(set) === wanted && annotatedDesired(set) === wanted && available(set) === wanted;
}

export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const [at, bt] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (at !== bt) return at < bt ? -1 : 1;
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
}

export function uidOf({ metadata }: ReplicaSet): string {
  return metadata.uid ?? "";
}

function available({ status }: ReplicaSet): number {
  return status.availableReplicas ?? 0;
}

function roundHalfAway(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value);
}
