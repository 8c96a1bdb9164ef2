/**
 * The steps of one round of a StatefulSet: ordinals in range get their pods and claims, pods beyond the
 * range go, then pods of an old revision. In order one waits for the one before; in parallel none waits.
 */
import type { ControllerRevision, StatefulSet } from "#api/generated/apps.v1.ts";
import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { scaledIntOrPercent } from "#api/meta/int-or-string.ts";
import type { Selector } from "#api/meta/label-selector.ts";
import type { EventNote } from "#runtime/controller.ts";
import { create, noted, remove, update, type Write } from "#runtime/writes.ts";
import { isAvailable } from "../shared/pods.ts";
import {
  claimsOf,
  isInRange,
  newPod,
  ordinalOf,
  repairedPod,
  revisionOf,
  startOrdinal,
} from "./identity.ts";
import { notes, withUpdateEvent } from "./pod-events.ts";
import { conflictOf, isStaleClaim, repairedClaim } from "./retention.ts";
import { isRunningAndReady, type Running } from "./status.ts";

export interface StatefulSetState {
  readonly set: StatefulSet;
  readonly selector: Selector;
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  /** Claims with the names that its pods' claims have or will have. */
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
}

export interface World extends StatefulSetState, Running {}

export interface Steps {
  readonly writes: readonly Write[];
  readonly events?: readonly EventNote[];
  /** Why there are writes. */
  readonly rule?: string | undefined;
  /** Nothing that comes later may happen in this round. */
  readonly blocked: boolean;
}

export const NO_STEPS: Steps = { writes: [], blocked: true };

/** Those of this round: replicas first, then the condemned, then the rolling update. */
export function stepsFor(world: World): Steps {
  const replicas = withRule("each ordinal has its pod and claims", replicaSteps(world));
  if (replicas.blocked) return replicas;
  const surplus = withRule("pods beyond spec.replicas are deleted", condemnedSteps(world));
  const condemned = joined([replicas, surplus]);
  if (condemned.blocked) return condemned;
  const updates = { writes: updateSteps(world), blocked: false };
  const rule = "pods of an old revision are replaced, the highest ordinal first";
  return joined([condemned, withRule(rule, updates)]);
}

function withRule(rule: string, steps: Steps): Steps {
  return steps.writes.length === 0 ? steps : { ...steps, rule };
}

function joined(steps: readonly Steps[]): Steps {
  return {
    writes: steps.flatMap(({ writes }) => writes),
    events: steps.flatMap(({ events = [] }) => events),
    rule: steps.findLast(({ rule }) => rule !== undefined)?.rule,
    blocked: steps.at(-1)?.blocked ?? false,
  };
}

function replicaSteps(world: World): Steps {
  const { set, pods } = world;
  const start = startOrdinal(set);
  const ordered = !isParallel(set);
  const steps: Steps[] = [];
  for (let ordinal = start; ordinal < start + (set.spec.replicas ?? 1); ordinal++) {
    const pod = pods.find((p) => ordinalOf(set, p) === ordinal);
    const step = pod === undefined ? createSteps(world, ordinal) : tendSteps(world, pod);
    steps.push(step);
    if (step.blocked && ordered) return joined(steps);
  }
  return { ...joined(steps), blocked: false };
}

function createSteps(world: World, ordinal: number): Steps {
  const { set, claims } = world;
  const pod = newPod(set, needsCurrent(world, ordinal) ? world.current : world.latest, ordinal);
  const name = pod.metadata.name ?? "";
  const wanted = claimsOf(set, ordinal).map(({ claim: wantedClaim }) => wantedClaim);
  if (wanted.some(({ metadata }) => isStaleClaim(set, name, claims.get(metadata.name ?? "")))) {
    return { writes: [], blocked: true };
  }
  return {
    writes: [
      ...claimWrites(world, wanted, pod),
      noted(create(podKind, pod), notes(set, "Create", name)),
      ...retentionWrites(world, pod),
    ],
    events: conflicts(world, pod),
    blocked: true,
  };
}

function claimWrites(
  { set, claims }: World,
  wanted: readonly PersistentVolumeClaim[],
  pod: Pod,
): readonly Write[] {
  return wanted
    .filter(({ metadata }) => claims.get(metadata.name ?? "") === undefined)
    .map((wantedClaim) => {
      const owned = repairedClaim(set, pod, wantedClaim) ?? wantedClaim;
      const write = create(persistentVolumeClaimKind, owned);
      const { name } = wantedClaim.metadata;
      return noted(write, notes(set, "Create", pod.metadata.name ?? "", name));
    });
}

function tendSteps(world: World, pod: Pod): Steps {
  const { set, nowMs } = world;
  const name = pod.metadata.name ?? "";
  const isGoing = pod.metadata.deletionTimestamp !== undefined;
  if (pod.status.phase === "Failed" || pod.status.phase === "Succeeded") {
    return { writes: isGoing ? [] : [deletePod(set, pod)], blocked: true };
  }
  const wanted = claimsOf(set, ordinalOf(set, pod)).map(({ claim: wantedClaim }) => wantedClaim);
  const isPending = pod.status.phase === "Pending";
  const missing = isPending ? claimWrites(world, wanted, pod) : [];
  const isHealthy =
    isRunningAndReady(pod) && isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  const retention = retentionWrites(world, pod);
  const events = isPending || retention.length > 0 ? conflicts(world, pod) : [];
  if (!isParallel(set) && (isGoing || !isHealthy))
    return { writes: missing, events, blocked: true };
  const repaired = repairedPod(set, pod);
  const repair = repaired === undefined ? [] : [update(podKind, repaired)];
  const changes = [...retention, ...repair];
  return { writes: [...missing, ...withUpdateEvent(set, name, changes)], events, blocked: false };
}

/** Of claims that are there. */
function conflicts({ set, claims }: World, pod: Pod): readonly EventNote[] {
  return claimsOf(set, ordinalOf(set, pod)).flatMap(({ claim: { metadata } }) => {
    const existing = claims.get(metadata.name ?? "");
    const conflict = existing === undefined ? undefined : conflictOf(set, pod, existing);
    return conflict === undefined ? [] : [conflict];
  });
}

function retentionWrites({ set, claims }: World, pod: Pod): readonly Write[] {
  return claimsOf(set, ordinalOf(set, pod)).flatMap(({ claim: wanted }) => {
    const existing = claims.get(wanted.metadata.name ?? "");
    const repaired = existing === undefined ? undefined : repairedClaim(set, pod, existing);
    return repaired === undefined ? [] : [update(persistentVolumeClaimKind, repaired)];
  });
}

/** Pods beyond the range go, the highest first. */
function condemnedSteps(world: World): Steps {
  const { set, pods, nowMs } = world;
  const condemned = pods
    .filter((pod) => !isInRange(set, ordinalOf(set, pod)))
    .sort((a, b) => ordinalOf(set, b) - ordinalOf(set, a));
  const retention = condemned.flatMap((pod) => retentionWrites(world, pod));
  if (isParallel(set)) {
    const next = condemned.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return { writes: [...retention, ...next.map((pod) => deletePod(set, pod))], blocked: false };
  }
  const first = condemned[0];
  if (first === undefined) return { writes: [], blocked: false };
  if (first.metadata.deletionTimestamp !== undefined) return { writes: retention, blocked: true };
  const isHealthy =
    isRunningAndReady(first) && isAvailable(first, set.spec.minReadySeconds ?? 0, nowMs);
  const firstUnhealthy = condemned.findLast((pod) => !isRunningAndReady(pod));
  const mayGo = isHealthy || first === firstUnhealthy;
  return { writes: mayGo ? [...retention, deletePod(set, first)] : retention, blocked: true };
}

/** Pods of an old revision go, the highest first. */
function updateSteps(world: World): readonly Write[] {
  const { set, pods, latest, nowMs } = world;
  if (set.spec.updateStrategy.type === "OnDelete") return [];
  const { partition = 0, maxUnavailable } = set.spec.updateStrategy.rollingUpdate ?? {};
  const start = startOrdinal(set);
  const count = set.spec.replicas ?? 1;
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const highestFirst = Array.from({ length: count }, (_, i) =>
    byOrdinal.get(start + count - 1 - i),
  );
  const isHealthy = (pod: Pod | undefined): pod is Pod =>
    pod !== undefined && isHealthyNow(set, pod, nowMs);
  const isOld = (pod: Pod | undefined): pod is Pod =>
    pod !== undefined &&
    revisionOf(pod) !== latest.metadata.name &&
    pod.metadata.deletionTimestamp === undefined;
  const replaceable = highestFirst.slice(0, Math.max(0, count - partition));
  if (maxUnavailable === undefined) {
    // One after the other: what is wrong further down does not matter yet.
    const next = replaceable.find((pod) => isOld(pod) || !isHealthy(pod));
    return isOld(next) ? [deletePod(set, next)] : [];
  }
  const scaled = scaledIntOrPercent(maxUnavailable, count, "down");
  const unavailable = highestFirst.filter((pod) => !isHealthy(pod)).length;
  const room = Math.max(1, scaled.ok ? scaled.value : 1) - unavailable;
  return replaceable
    .filter(isOld)
    .slice(0, Math.max(0, room))
    .map((pod) => deletePod(set, pod));
}

function isHealthyNow(set: StatefulSet, pod: Pod, nowMs: number): boolean {
  return (
    isRunningAndReady(pod) &&
    pod.metadata.deletionTimestamp === undefined &&
    isAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)
  );
}

/** Below the partition, and while the update has not come so far, pods come back as they were. */
function needsCurrent({ set }: World, ordinal: number): boolean {
  if (set.spec.updateStrategy.type !== "RollingUpdate") return false;
  const start = startOrdinal(set);
  const rolling = set.spec.updateStrategy.rollingUpdate;
  if (rolling === undefined) return ordinal < start + (set.status.currentReplicas ?? 0);
  return ordinal < start + (rolling.partition ?? 0);
}

export function isParallel({ spec }: StatefulSet): boolean {
  return spec.podManagementPolicy === "Parallel";
}

function deletePod(set: StatefulSet, pod: Pod): Write {
  return noted(remove(podKind, pod), notes(set, "Delete", pod.metadata.name ?? ""));
}
