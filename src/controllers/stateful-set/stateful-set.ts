/**
 * Runs pods that have an identity: ordinals, stable names, claims of their own. In order one waits
 * for the one before; in parallel none waits.
 */

import type { StatefulSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type Caches,
  controllerKey,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
  type RefusalOutcome,
  type RefusedWrite,
  readOnly,
} from "#runtime/controller.ts";
import { updateStatus, type Write } from "#runtime/writes.ts";
import { candidatePods, keysOfPod, orphanPods } from "../replica-set.ts";
import { foundByName } from "../shared/found-by-name.ts";
import { claim } from "../shared/ownership.ts";
import {
  candidateRevisions,
  claimRevisions,
  orphanRevisions,
  pruneHistory,
  revisionData,
  trackRevision,
} from "../shared/revision-history.ts";
import { claimNamesOf, ordinalOf, revisionOf, startOrdinal } from "./identity.ts";
import { nextAvailableInMs, statusOf } from "./status.ts";
import { isParallel, NO_STEPS, type StatefulSetState, stepsFor, type World } from "./steps.ts";

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
  decideRefused: (state, refused, nowMs) =>
    state === undefined ? {} : decideRefused(state, refused, nowMs),
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
  const { set } = state;
  const { claims, revisions, history, world } = lookAt(state, nowMs);
  if (revisions.writes.length > 0) {
    return { writes: revisions.writes, because: "ControllerRevisions are adopted first" };
  }
  const { current, latest } = world;
  const isGoing = set.metadata.deletionTimestamp !== undefined;
  const { writes: steps, events = [], rule } = isGoing ? NO_STEPS : stepsFor(world);
  const inUse = new Set(
    [current, latest]
      .map(({ metadata }) => metadata.name ?? "")
      .concat(claims.owned.map(revisionOf)),
  );
  const recheckInMs = nextAvailableInMs(world);
  return because(rule ?? "the status and the history follow the pods", {
    writes: [
      ...claims.writes,
      ...history.writes,
      ...(isParallel(set) ? [steps] : steps),
      ...statusWrites(world),
      ...pruneHistory(history.revisions, set.spec.revisionHistoryLimit ?? 10, inUse),
    ].filter((step) => !Array.isArray(step) || step.length > 0),
    events,
    ...(recheckInMs === undefined ? {} : { recheckInMs }),
  });
}

/** The pods and revisions that belong to the set. */
function lookAt(state: StatefulSetState, nowMs: number) {
  const { set, selector } = state;
  const owner = { kind: statefulSetKind, object: set };
  const claims = claim(
    owner,
    podKind,
    state.pods,
    (pod) => ordinalOf(set, pod) >= 0 && matchesLabels(selector, pod.metadata.labels),
  );
  const revisions = claimRevisions(owner, state.revisions, selector);
  const labels = set.spec.template.metadata.labels ?? {};
  const collisions = set.status.collisionCount ?? 0;
  const history = trackRevision(owner, revisions.owned, revisionData(set), labels, collisions);
  const current =
    history.revisions.find(({ metadata }) => metadata.name === set.status.currentRevision) ??
    history.latest;
  const world: World = { ...state, pods: claims.owned, current, latest: history.latest, nowMs };
  return { claims, revisions, history, world };
}

/** A hash that another revision has is counted as a collision. */
function decideRefused(
  state: StatefulSetState,
  { write, status: refusal }: RefusedWrite,
  nowMs: number,
): RefusalOutcome {
  const { world } = lookAt(state, nowMs);
  const isRevision = write.op === "create" && write.kind === controllerRevisionKind;
  if (isRevision && refusal.reason === "AlreadyExists") {
    return { writes: statusWrites(world, (state.set.status.collisionCount ?? 0) + 1) };
  }
  // The status is written all the same, unless that write was the one refused.
  return isRevision || write.kind === statefulSetKind ? {} : { writes: statusWrites(world) };
}

function statusWrites(
  world: World,
  collisionCount = world.set.status.collisionCount ?? 0,
): readonly Write[] {
  const { set } = world;
  const status = statusOf(world, collisionCount);
  const isSame = semanticEqual(status, set.status);
  return isSame ? [] : [updateStatus(statefulSetKind, { ...set, status })];
}
