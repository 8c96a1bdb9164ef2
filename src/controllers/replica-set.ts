/**
 * Keeps as many pods running as a ReplicaSet asks for. ReplicationControllers follow the same rules
 * with another kind (replication-controller.ts).
 */

import type { ReplicaSet, ReplicaSetStatus } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import {
  matchesLabels,
  type Selector,
  selectorFromLabels,
  selectorOf,
} from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type Caches,
  type Change,
  defineController,
  type IndexSpec,
  idle,
  type Key,
  type Outcome,
  ownKey,
  type RefusalOutcome,
  type RefusedWrite,
} from "#runtime/controller.ts";
import { updateStatus, type Write } from "#runtime/writes.ts";
import {
  type Condition,
  findCondition,
  withCondition,
  withoutCondition,
} from "./shared/conditions.ts";
import { withoutZeros } from "./shared/counters.ts";
import { claim, controllerOf, controllerReference } from "./shared/ownership.ts";
import { podsToDelete } from "./shared/pod-ranking.ts";
import { createPod, deletePod } from "./shared/pod-writes.ts";
import {
  availableAtMs,
  isActive,
  isAvailable,
  isReady,
  isTerminating,
  podFromTemplate,
  readyCondition,
} from "./shared/pods.ts";

/** Pods that one decision may create or delete. */
const BURST_MAX = 500;

export interface ReplicaState {
  /** As a ReplicaSet, whatever it is stored as. */
  readonly set: ReplicaSet;
  /** The ReplicaSet or ReplicationController itself. */
  readonly stored: KubeObject;
  readonly selector: Selector;
  /** Pods that it controls, and those without a controller in its namespace. */
  readonly pods: readonly Pod[];
  /** Active pods of the same workload by node, to spread deletions; empty while none can be due. */
  readonly relatedByNode: ReadonlyMap<string, number>;
}

/** What sets are stored as: ReplicaSets, or ReplicationControllers. */
export interface SetForm {
  // biome-ignore lint/suspicious/noExplicitAny: the two kinds have different types
  readonly kind: KindOf<any>;
  /** Whether its status counts pods that are on their way out. */
  readonly countsTerminating: boolean;
}

const REPLICA_SET: SetForm = {
  kind: replicaSetKind,
  countsTerminating: true,
};

/** Pods without a controller, by namespace. */
export const orphanPods: IndexSpec<Pod> = {
  kind: podKind,
  name: "orphans",
  values: (pod) => (controllerOf(pod) === undefined ? [pod.metadata.namespace ?? ""] : []),
};

export const replicaSetController = defineController<ReplicaState | undefined>({
  name: "replicaset-controller",
  rule: "as many pods as replicas asks for: surplus pods are deleted, missing ones created",
  feeds: [
    { kind: replicaSetKind, keys: ownKey },
    {
      kind: podKind,
      keys: (pod: Pod, caches) => keysOfPod(pod, caches, replicaSetKind),
      keysOfChange,
    },
  ],
  indexes: [orphanPods],
  observe: (caches, key) => observe(caches, key),
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, REPLICA_SET, nowMs)),
  decideRefused: (state, refused, nowMs) =>
    state === undefined ? {} : decideRefused(state, REPLICA_SET, refused, nowMs),
});

/** A pod concerns its controller; one without concerns every set that would adopt it. */
export function keysOfPod<
  T extends KubeObject & { readonly spec: { readonly selector?: unknown } },
>(pod: Pod, caches: Caches, kind: KindOf<T>): readonly Key[] {
  const { namespace } = pod.metadata;
  const controller = controllerOf(pod);
  if (controller !== undefined) {
    return controller.kind === kind.names.kind ? [{ namespace, name: controller.name }] : [];
  }
  return [...caches(kind).list(namespace)]
    .filter(({ spec }) => matchesLabels(selectorFor(spec.selector), pod.metadata.labels))
    .flatMap(ownKey);
}

function keysOfChange({ next, old }: Change<Pod>, caches: Caches): readonly Key[] {
  if (next !== undefined && old !== undefined && countsAlike(next, old)) return [];
  return [next, old].flatMap((pod) =>
    pod === undefined ? [] : keysOfPod(pod, caches, replicaSetKind),
  );
}

/** Whether a set counts the pod as it did before: its binding or a restart changes nothing. */
function countsAlike(next: Pod, old: Pod): boolean {
  const [ready, was] = [readyCondition(next), readyCondition(old)];
  return (
    next.metadata.uid === old.metadata.uid &&
    isActive(next) === isActive(old) &&
    isTerminating(next) === isTerminating(old) &&
    ready?.status === was?.status &&
    ready?.lastTransitionTime === was?.lastTransitionTime &&
    semanticEqual(next.metadata.labels, old.metadata.labels) &&
    semanticEqual(next.metadata.ownerReferences, old.metadata.ownerReferences)
  );
}

function selectorFor(selector: unknown): Selector {
  const parsed = selectorOf(selector as ReplicaSet["spec"]["selector"] & object);
  return parsed.ok ? parsed.value : "nothing";
}

function observe(caches: Caches, { namespace, name }: Key): ReplicaState | undefined {
  const set = caches(replicaSetKind).get(namespace, name);
  if (set === undefined) return undefined;
  const pods = candidatePods(caches, set);
  const mayDelete = pods.length > (set.spec.replicas ?? 1);
  return {
    set,
    stored: set,
    selector: selectorFor(set.spec.selector),
    pods,
    relatedByNode: mayDelete ? relatedByNode(caches, set) : new Map(),
  };
}

export function candidatePods(caches: Caches, { metadata }: KubeObject): readonly Pod[] {
  const pods = caches(podKind);
  return [
    ...pods.controlledBy(metadata.uid ?? ""),
    ...pods.byIndex(orphanPods.name, metadata.namespace ?? ""),
  ];
}

function relatedByNode(caches: Caches, set: ReplicaSet): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const owner = controllerOf(set);
  const sets = owner === undefined ? [set] : caches(replicaSetKind).controlledBy(owner.uid);
  for (const related of sets) {
    for (const pod of caches(podKind).controlledBy(related.metadata.uid ?? "")) {
      const node = pod.spec.nodeName ?? "";
      if (isActive(pod)) counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  }
  return counts;
}

export function decide(state: ReplicaState, form: SetForm, nowMs: number): Outcome {
  const { claimed, active, scaling, status } = planFor(state, form, nowMs);
  const recheckInMs = nextAvailableInMs(state.set, active, nowMs);
  const rule =
    scaling.length > 0
      ? scalingRule(state.set, active)
      : claimed.length > 0
        ? "pods are adopted or released as the selector says"
        : "the status counts the pods";
  return because(rule, {
    writes: [...claimed, scaling, ...statusWrite(form, state, status)].filter(
      (step) => !Array.isArray(step) || step.length > 0,
    ),
    ...(recheckInMs === undefined ? {} : { recheckInMs }),
  });
}

/** The status says that pods could not be created or deleted. */
export function decideRefused(
  state: ReplicaState,
  form: SetForm,
  { write, status: { message = "" } }: RefusedWrite,
  nowMs: number,
): RefusalOutcome {
  const isScaling = write.kind === podKind && (write.op === "create" || write.op === "delete");
  if (!isScaling) return {};
  const { status } = planFor(state, form, nowMs);
  return { writes: statusWrite(form, state, withFailure(status, write.op, message, nowMs)) };
}

interface Plan {
  /** Adopts and releases pods. */
  readonly claimed: readonly Write[];
  readonly active: readonly Pod[];
  readonly scaling: readonly Write[];
  readonly status: ReplicaSetStatus;
}

function planFor(state: ReplicaState, form: SetForm, nowMs: number): Plan {
  const { set, selector, pods } = state;
  const candidates = pods.filter((pod) => isActive(pod) || isTerminating(pod));
  const claims = claim({ kind: form.kind, object: set }, podKind, candidates, (pod) =>
    matchesLabels(selector, pod.metadata.labels),
  );
  const active = claims.owned.filter(isActive);
  const terminating = claims.owned.filter(isTerminating);
  const scaling =
    set.metadata.deletionTimestamp === undefined ? scale(state, form, active, nowMs) : [];
  const status = statusOf(state, form, active, terminating, nowMs);
  return { claimed: claims.writes, active, scaling, status };
}

function scalingRule({ spec }: ReplicaSet, active: readonly Pod[]): string {
  return active.length > (spec.replicas ?? 1)
    ? "more pods run than spec.replicas asks for"
    : "fewer pods run than spec.replicas asks for";
}

function scale(
  { set, relatedByNode }: ReplicaState,
  form: SetForm,
  active: readonly Pod[],
  nowMs: number,
): readonly Write[] {
  const surplus = active.length - (set.spec.replicas ?? 1);
  if (surplus === 0) return [];
  const count = Math.min(Math.abs(surplus), BURST_MAX);
  if (surplus > 0) {
    return podsToDelete(active, count, relatedByNode, nowMs).map((pod) => deletePod(set, pod));
  }
  const pod = podFromTemplate(set.spec.template, set, controllerReference(form.kind, set));
  const write = createPod(set, pod);
  return Array.from({ length: count }, () => write);
}

function statusOf(
  { set }: ReplicaState,
  form: SetForm,
  active: readonly Pod[],
  terminating: readonly Pod[],
  nowMs: number,
): ReplicaSetStatus {
  const { minReadySeconds = 0, template } = set.spec;
  const templateLabels = selectorFromLabels(template.metadata.labels ?? {});
  let [fullyLabeledReplicas, readyReplicas, availableReplicas] = [0, 0, 0];
  for (const pod of active) {
    if (matchesLabels(templateLabels, pod.metadata.labels)) fullyLabeledReplicas += 1;
    if (!isReady(pod)) continue;
    readyReplicas += 1;
    if (isAvailable(pod, minReadySeconds, nowMs)) availableReplicas += 1;
  }
  return {
    replicas: active.length,
    ...withoutZeros({ fullyLabeledReplicas, readyReplicas, availableReplicas }),
    ...(form.countsTerminating ? { terminatingReplicas: terminating.length } : {}),
    ...(set.metadata.generation === undefined
      ? {}
      : { observedGeneration: set.metadata.generation }),
    conditions: withoutCondition(set.status.conditions, "ReplicaFailure"),
  };
}

function withFailure(
  status: ReplicaSetStatus,
  op: Write["op"],
  message: string,
  nowMs: number,
): ReplicaSetStatus {
  const reason = op === "create" ? "FailedCreate" : "FailedDelete";
  const failure: Condition = { type: "ReplicaFailure", status: "True", reason, message };
  return { ...status, conditions: withCondition(status.conditions, failure, nowMs) };
}

function statusWrite(
  form: SetForm,
  { set, stored }: ReplicaState,
  status: ReplicaSetStatus,
): readonly Write[] {
  const old = set.status;
  const failing = findCondition(status.conditions, "ReplicaFailure");
  const known = findCondition(old.conditions, "ReplicaFailure");
  const kept =
    failing !== undefined && known !== undefined
      ? { ...status, conditions: old.conditions ?? [] }
      : status;
  return semanticEqual(old, kept) ? [] : [updateStatus(form.kind, { ...stored, status: kept })];
}

/** When the next ready pod has been ready for long enough. */
function nextAvailableInMs(
  set: ReplicaSet,
  active: readonly Pod[],
  nowMs: number,
): number | undefined {
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  if (minReadySeconds === 0) return undefined; // a ready pod is available at once
  const times = active
    .map((pod) => availableAtMs(pod, minReadySeconds) ?? Infinity)
    .filter((atMs) => atMs > nowMs && atMs < Infinity);
  return times.length === 0 ? undefined : Math.min(...times) - nowMs;
}
