/**
 * Runs pods that have an identity: ordinals, stable names, claims of their own. In order one waits
 * for the one before; in parallel none waits.
 */

import type { ControllerRevision, StatefulSet } from "#api/generated/apps.v1.ts";
import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { scaledIntOrPercent } from "#api/meta/int-or-string.ts";
import { matchesLabels, type Selector, selectorOf } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  controllerKey,
  defineController,
  type EventNote,
  idle,
  type Key,
  type Outcome,
  ownKey,
  readOnly,
} from "#runtime/controller.ts";
import { create, noted, remove, update, updateStatus, type Write } from "#runtime/writes.ts";
import { candidatePods, keysOfPod, orphanPods } from "../replica-set.ts";
import { foundByName } from "../shared/found-by-name.ts";
import { claim } from "../shared/ownership.ts";
import { isAvailable } from "../shared/pods.ts";
import {
  candidateRevisions,
  claimRevisions,
  orphanRevisions,
  pruneHistory,
  revisionData,
  trackRevision,
} from "../shared/revision-history.ts";
import {
  claimNamesOf,
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
import { isRunningAndReady, nextAvailableInMs, type Running, statusOf } from "./status.ts";

export interface StatefulSetState {
  readonly set: StatefulSet;
  readonly selector: Selector;
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  /** Claims with the names that its pods' claims have or will have. */
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
}

export const statefulSetController = defineController<StatefulSetState | undefined>({
  name: "statefulset-controller",
  rule: "each ordinal has its pod and claims, in order unless the policy is Parallel; updates go from the highest ordinal down",
  feeds: [
    { kind: statefulSetKind, keys: ownKey },
    { kind: podKind, keys: (pod: Pod, caches) => keysOfPod(pod, caches, statefulSetKind) },
    { kind: controllerRevisionKind, keys: controllerKey(statefulSetKind) },
    readOnly(persistentVolumeClaimKind),
  ],
  indexes: [orphanPods, orphanRevisions],
  observe,
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
});

function observe(caches: Caches, { namespace, name }: Key): StatefulSetState | undefined {
  const set = caches(statefulSetKind).get(namespace, name);
  if (set === undefined) return undefined;
  const parsed = selectorOf(set.spec.selector ?? undefined);
  const pods = candidatePods(caches, set);
  return {
    set,
    selector: parsed.ok ? parsed.value : "nothing",
    pods,
    revisions: candidateRevisions(caches, set),
    claims: foundByName(caches, persistentVolumeClaimKind, namespace, claimNames(set, pods)),
  };
}

function* claimNames(set: StatefulSet, pods: readonly Pod[]): Iterable<string> {
  if ((set.spec.volumeClaimTemplates ?? []).length === 0) return;
  const start = startOrdinal(set);
  for (let ordinal = start; ordinal < start + (set.spec.replicas ?? 1); ordinal++) {
    yield* claimNamesOf(set, ordinal);
  }
  for (const pod of pods) {
    if (ordinalOf(set, pod) >= 0) yield* claimNamesOf(set, ordinalOf(set, pod));
  }
}

function decide(state: StatefulSetState, nowMs: number): Outcome {
  const { set, selector } = state;
  const owner = { kind: statefulSetKind, object: set };
  const claims = claim(
    owner,
    podKind,
    state.pods,
    (pod) => ordinalOf(set, pod) >= 0 && matchesLabels(selector, pod.metadata.labels),
  );
  const revisions = claimRevisions(owner, state.revisions, selector);
  if (revisions.writes.length > 0) return { writes: revisions.writes };
  const collisionCount = set.status.collisionCount ?? 0;
  const history = trackRevision(
    owner,
    revisions.owned,
    revisionData(set),
    set.spec.template.metadata.labels ?? {},
    collisionCount,
  );
  const current =
    history.revisions.find(({ metadata }) => metadata.name === set.status.currentRevision) ??
    history.latest;
  const world: World = { ...state, pods: claims.owned, current, latest: history.latest, nowMs };
  const isGoing = set.metadata.deletionTimestamp !== undefined;
  const { writes: steps, events = [] } = isGoing ? NO_STEPS : stepsFor(world);
  const status = statusOf(world, collisionCount);
  const inUse = new Set(
    [current, history.latest]
      .map(({ metadata }) => metadata.name ?? "")
      .concat(claims.owned.map(revisionOf)),
  );
  const recheckInMs = nextAvailableInMs(world);
  const statusWrites = semanticEqual(status, set.status)
    ? []
    : [updateStatus(statefulSetKind, { ...set, status })];
  return {
    writes: [
      ...claims.writes,
      ...history.writes,
      ...(isParallel(set) ? [steps] : steps),
      ...statusWrites,
      ...pruneHistory(history.revisions, set.spec.revisionHistoryLimit ?? 10, inUse),
    ].filter((step) => !Array.isArray(step) || step.length > 0),
    events,
    ...(recheckInMs === undefined ? {} : { recheckInMs }),
    onRefused: ({ write, status: refusal }) => {
      const isRevision = write.op === "create" && write.kind === controllerRevisionKind;
      if (isRevision && refusal.reason === "AlreadyExists") {
        const collided = { ...status, collisionCount: collisionCount + 1 };
        return { writes: [updateStatus(statefulSetKind, { ...set, status: collided })] };
      }
      // The status is written all the same, unless that write was the one refused.
      return isRevision || write.kind === statefulSetKind ? {} : { writes: statusWrites };
    },
  };
}

interface World extends StatefulSetState, Running {}

interface Steps {
  readonly writes: readonly Write[];
  readonly events?: readonly EventNote[];
  /** Nothing that comes later may happen in this round. */
  readonly blocked: boolean;
}

const NO_STEPS: Steps = { writes: [], blocked: true };

/** Those of this round: replicas first, then the condemned, then the rolling update. */
function stepsFor(world: World): Steps {
  const replicas = replicaSteps(world);
  if (replicas.blocked) return replicas;
  const condemned = joined([replicas, condemnedSteps(world)]);
  if (condemned.blocked) return condemned;
  return joined([condemned, { writes: updateSteps(world), blocked: false }]);
}

function joined(steps: readonly Steps[]): Steps {
  return {
    writes: steps.flatMap(({ writes }) => writes),
    events: steps.flatMap(({ events = [] }) => events),
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

function isParallel({ spec }: StatefulSet): boolean {
  return spec.podManagementPolicy === "Parallel";
}

function deletePod(set: StatefulSet, pod: Pod): Write {
  return noted(remove(podKind, pod), notes(set, "Delete", pod.metadata.name ?? ""));
}
