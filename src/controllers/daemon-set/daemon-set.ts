/** Runs one pod of a DaemonSet on every node that it is meant for. */

import type { ControllerRevision, DaemonSet, DaemonSetStatus } from "#api/generated/apps.v1.ts";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { daemonSetKind } from "#api/kinds/apps/v1/daemon-set.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { matchesLabels, type Selector, selectorOf } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type Caches,
  type Change,
  controllerKey,
  defineController,
  type EventNote,
  idle,
  type Key,
  type Outcome,
  ownKey,
  type RefusalOutcome,
  type RefusedWrite,
} from "#runtime/controller.ts";
import { patch, remove, update, updateStatus, type Write } from "#runtime/writes.ts";
import { candidatePods, keysOfPod, orphanPods } from "../replica-set.ts";
import { withoutZeros } from "../shared/counters.ts";
import { claim } from "../shared/ownership.ts";
import { createPod, deletePod } from "../shared/pod-writes.ts";
import { availableAtMs, isAvailable, isFinished, isReady } from "../shared/pods.ts";
import {
  candidateRevisions,
  claimRevisions,
  orphanRevisions,
  pruneHistory,
  revisionData,
  trackRevision,
} from "../shared/revision-history.ts";
import { type Failures, noteFailures } from "./failures.ts";
import { bySeniority, type Changes, managePods, type World } from "./manage-pods.ts";
import { isUpdated, newPod, nodeOf, placementOn, REVISION_LABEL } from "./placement.ts";
import { rollingUpdateOf, surgeOf } from "./rolling-update.ts";

/** Pods that one decision may create or delete. */
const BURST_MAX = 250;

export interface DaemonSetState {
  readonly set: DaemonSet;
  readonly selector: Selector;
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  readonly failures: Failures | undefined;
}

const keysOfRevision = controllerKey(daemonSetKind);

export const daemonSetController = defineController<DaemonSetState | undefined, Failures>({
  name: "daemonset-controller",
  rule: "every node that fits has one pod of the template; updates keep within maxUnavailable and maxSurge",
  feeds: [
    { kind: daemonSetKind, keys: ownKey },
    { kind: podKind, keys: (pod: Pod, caches) => keysOfPod(pod, caches, daemonSetKind) },
    { kind: controllerRevisionKind, keys: keysOfRevision, keysOfChange: keysOfRevisionChange },
    { kind: nodeKind, keys: () => [], keysOfChange: keysOfNodeChange },
  ],
  indexes: [orphanPods, orphanRevisions],
  observe: (caches, key, _reader, failures) => observe(caches, key, failures),
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
  decideRefused: (state, refused, nowMs) =>
    state === undefined ? {} : decideRefused(state, refused, nowMs),
});

/** Of a node that stays, only labels and taints matter, and those only where the answer differs. */
function keysOfNodeChange({ old, next }: Change<Node>, caches: Caches): readonly Key[] {
  const sets = [...caches(daemonSetKind).list()];
  if (old === undefined || next === undefined) return sets.flatMap(ownKey);
  const isSame =
    semanticEqual(old.metadata.labels, next.metadata.labels) &&
    semanticEqual(old.spec.taints, next.spec.taints);
  if (isSame) return [];
  return sets
    .filter((set) => !semanticEqual(placementOn(old, set), placementOn(next, set)))
    .flatMap(ownKey);
}

/** As upstream, a new ControllerRevision queues no key: its creator may not be done with it. */
function keysOfRevisionChange({ old, next }: Change<ControllerRevision>): readonly Key[] {
  if (old === undefined) return [];
  return [...keysOfRevision(old), ...(next === undefined ? [] : keysOfRevision(next))];
}

function observe(
  caches: Caches,
  { namespace, name }: Key,
  failures: Failures | undefined,
): DaemonSetState | undefined {
  const set = caches(daemonSetKind).get(namespace, name);
  if (set === undefined) return undefined;
  const selector = selectorOf(set.spec.selector ?? undefined);
  return {
    set,
    selector: selector.ok ? selector.value : "nothing",
    nodes: [...caches(nodeKind).list()],
    pods: candidatePods(caches, set),
    revisions: candidateRevisions(caches, set),
    failures,
  };
}

function decide(state: DaemonSetState, nowMs: number): Outcome<Failures> {
  const { set, selector } = state;
  if (selector !== "nothing" && selector.length === 0) {
    const message = "This daemon set is selecting all pods. A non-empty selector is required.";
    const events: EventNote[] = [{ about: set, type: "Warning", reason: "SelectingAll", message }];
    return { events, because: "a selector that selects all pods is refused" };
  }
  // Of one that is being deleted, the history may be gone already: nothing certain can be said.
  if (set.metadata.deletionTimestamp !== undefined) return idle;
  const { claims, tidying, history, world } = lookAt(state, nowMs);
  if (tidying.length > 0) {
    return { writes: tidying, because: "adopted ControllerRevisions are put in order first" };
  }
  const managed = managePods(world);
  const isKept = managed.createOn.length + managed.remove.length === 0;
  const rolls = isKept && set.spec.updateStrategy.type === "RollingUpdate";
  const changes = rolls ? rollingUpdateOf(world) : managed;
  const recheckInMs = Math.min(managed.recheckAtMs, nextAvailableAtMs(world)) - nowMs;
  return because(ruleOf(changes, rolls), {
    writes: [
      ...claims.writes,
      ...history.writes,
      ...podWrites(set, world.hash, changes),
      ...statusWrites(set, statusOf(world)),
      ...pruneHistory(
        history.revisions,
        set.spec.revisionHistoryLimit ?? 10,
        inUse(history.revisions, claims.owned, world.hash),
      ),
    ].filter((step) => !Array.isArray(step) || step.length > 0),
    events: managed.events,
    remember: world.failures,
    ...(recheckInMs === Infinity ? {} : { recheckInMs }),
  });
}

/** The pods and revisions that belong to the set, and what puts the revisions in order. */
function lookAt(state: DaemonSetState, nowMs: number) {
  const { set, selector, nodes } = state;
  const owner = { kind: daemonSetKind, object: set };
  const claims = claim(owner, podKind, state.pods, (pod) =>
    matchesLabels(selector, pod.metadata.labels),
  );
  const data = revisionData(set);
  const revisions = claimRevisions(owner, state.revisions, selector);
  const tidying = [...revisions.writes, ...collapseWrites(revisions.owned, data, claims.owned)];
  const labels = set.spec.template.metadata.labels ?? {};
  const collisions = set.status.collisionCount ?? 0;
  const history = trackRevision(owner, revisions.owned, data, labels, collisions, REVISION_LABEL);
  const hash = history.latest.metadata.labels?.[REVISION_LABEL] ?? "";
  const podsByNode = byNode(claims.owned);
  const failures = noteFailures(state.failures, set, podsByNode, nowMs);
  const allowsSurge = surgeOf(set, 1) > 0;
  const world: World = { set, nodes, podsByNode, hash, allowsSurge, failures, nowMs };
  return { claims, tidying, history, world };
}

function ruleOf({ createOn, remove: surplus }: Changes, rolls: boolean): string {
  if (createOn.length + surplus.length === 0) return "the status counts the nodes and their pods";
  return rolls
    ? "pods of an old template are replaced within maxUnavailable and maxSurge"
    : "every node that fits has one pod, and no other node has any";
}

/** The status is written all the same; a hash that another revision has is counted as a collision. */
function decideRefused(
  state: DaemonSetState,
  { write, status: refusal }: RefusedWrite,
  nowMs: number,
): RefusalOutcome {
  if (write.op !== "create") return {};
  const { set } = state;
  const status = statusOf(lookAt(state, nowMs).world);
  const isCollision = write.kind === controllerRevisionKind && refusal.reason === "AlreadyExists";
  if (!isCollision) return { writes: statusWrites(set, status) };
  const collisionCount = (set.status.collisionCount ?? 0) + 1;
  return { writes: statusWrites(set, { ...status, collisionCount }) };
}

function statusWrites(set: DaemonSet, status: DaemonSetStatus): readonly Write[] {
  const isSame = semanticEqual(status, set.status);
  return isSame ? [] : [updateStatus(daemonSetKind, { ...set, status })];
}

/**
 * Adopted revisions may lack the hash that pods are labelled with, or hold the current template more
 * than once: then the newest stays, and pods of the others are taken for pods of that one.
 */
function collapseWrites(
  revisions: readonly ControllerRevision[],
  data: unknown,
  pods: readonly Pod[],
): readonly Write[] {
  const hashOf = ({ metadata }: KubeObject): string | undefined =>
    metadata.labels?.[REVISION_LABEL];
  const unlabelled = revisions.filter((revision) => hashOf(revision) === undefined);
  const labelling = unlabelled.map((revision) => {
    const labels = { ...revision.metadata.labels, [REVISION_LABEL]: revision.metadata.name ?? "" };
    return update(controllerRevisionKind, {
      ...revision,
      metadata: { ...revision.metadata, labels },
    });
  });
  if (labelling.length > 0) return labelling;
  const equal = revisions.filter((revision) => semanticEqual(revision.data, data));
  const kept = equal.toSorted((a, b) => a.revision - b.revision).at(-1);
  if (kept === undefined || equal.length === 1) return [];
  const surplus = equal.filter((revision) => revision !== kept);
  const hashes = new Set(surplus.map(hashOf));
  const labels = { [REVISION_LABEL]: hashOf(kept) ?? "" };
  return [
    ...pods
      .filter((pod) => hashes.has(hashOf(pod)))
      .map((pod) => patch(podKind, pod, "merge", { metadata: { labels } })),
    ...surplus.map((revision) => remove(controllerRevisionKind, revision)),
  ];
}

function byNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    if (isFinished(pod) && pod.metadata.deletionTimestamp !== undefined) continue;
    const name = nodeOf(pod);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [pod]);
    else group.push(pod);
  }
  return groups;
}

function podWrites(
  set: DaemonSet,
  hash: string,
  { createOn, remove: surplus }: Changes,
): NonNullable<Outcome["writes"]> {
  return [
    createOn.slice(0, BURST_MAX).map((name) => createPod(set, newPod(set, hash, name))),
    surplus.slice(0, BURST_MAX).map((pod) => deletePod(set, pod)),
  ];
}

function inUse(
  revisions: readonly ControllerRevision[],
  pods: readonly Pod[],
  hash: string,
): ReadonlySet<string> {
  const hashes = new Set([hash, ...pods.map(({ metadata }) => metadata.labels?.[REVISION_LABEL])]);
  return new Set(
    revisions
      .filter(({ metadata }) => hashes.has(metadata.labels?.[REVISION_LABEL]))
      .map(({ metadata }) => metadata.name ?? ""),
  );
}

function statusOf({ set, nodes, podsByNode, hash, nowMs }: World): DaemonSetStatus {
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  const names = (starts: boolean): readonly string[] =>
    nodes
      .filter((node) => placementOn(node, set).starts === starts)
      .map(({ metadata }) => metadata.name ?? "");
  const wanted = names(true);
  const eldest = wanted.flatMap(
    (name) => [...(podsByNode.get(name) ?? [])].sort(bySeniority)[0] ?? [],
  );
  const count = (test: (pod: Pod) => boolean): number => eldest.filter(test).length;
  const available = count((pod) => isAvailable(pod, minReadySeconds, nowMs));
  const { generation } = set.metadata;
  const { collisionCount, conditions } = set.status;
  return {
    currentNumberScheduled: eldest.length,
    numberMisscheduled: names(false).filter((name) => podsByNode.has(name)).length,
    desiredNumberScheduled: wanted.length,
    numberReady: count(isReady),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...withoutZeros({
      updatedNumberScheduled: count((pod) => isUpdated(pod, set, hash)),
      numberAvailable: available,
      numberUnavailable: wanted.length - available,
    }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

function nextAvailableAtMs({ set, podsByNode, nowMs }: World): number {
  return [...podsByNode.values()]
    .flat()
    .map((pod) => availableAtMs(pod, set.spec.minReadySeconds ?? 0) ?? Infinity)
    .filter((atMs) => atMs > nowMs)
    .reduce((soonest, atMs) => Math.min(soonest, atMs), Infinity);
}
