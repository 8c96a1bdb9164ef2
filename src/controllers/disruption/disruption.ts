/**
 * Keeps the status of PodDisruptionBudgets: how many pods there should be, how many are healthy, and
 * so how many may be disrupted. The eviction subresource goes by it.
 */

import type { Pod } from "#api/generated/core.v1.ts";
import type { Condition as MetaCondition } from "#api/generated/meta.v1.ts";
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/generated/policy.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { scaledIntOrPercent } from "#api/meta/int-or-string.ts";
import { matchesLabels, type Selector, selectorOf } from "#api/meta/label-selector.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  type Caches,
  defineController,
  type EventNote,
  idle,
  type Key,
  type Outcome,
  ownKey,
  type Reader,
} from "#runtime/controller.ts";
import { updateStatus } from "#runtime/writes.ts";
import { isReady } from "../shared/pods.ts";
import { selectorText } from "../shared/selector-text.ts";
import { type BudgetScale, scaleOf } from "./budget-scale.ts";

/** An eviction that was granted and not followed by a deletion is forgotten after this. */
const DELETION_TIMEOUT_MS = 120_000;

export interface DisruptionState {
  readonly budget: PodDisruptionBudget;
  readonly pods: readonly Pod[];
  /** Those of them that other budgets select too, if this is the first of these budgets. */
  readonly contested: readonly Pod[];
  /** What the pods' controllers want. */
  readonly scale: BudgetScale;
}

export const disruptionController = defineController<DisruptionState | undefined>({
  name: "disruption-controller",
  rule: "disruptionsAllowed is what is healthy beyond what the budget keeps",
  component: "controllermanager",
  feeds: [
    { kind: podDisruptionBudgetKind, keys: ownKey },
    { kind: podKind, keys: keysOfPod },
    ...[deploymentKind, replicaSetKind, statefulSetKind, replicationControllerKind].map((kind) => ({
      kind,
      keys: ({ metadata }: { metadata: { namespace?: string } }, caches: Caches) =>
        keysIn(metadata.namespace, caches),
    })),
  ],
  observe,
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
});

function keysOfPod({ metadata }: Pod, caches: Caches): readonly Key[] {
  return [...caches(podDisruptionBudgetKind).list(metadata.namespace)]
    .filter((budget) => matchesLabels(selectorFor(budget), metadata.labels))
    .flatMap(ownKey);
}

function keysIn(namespace: string | undefined, caches: Caches): readonly Key[] {
  return [...caches(podDisruptionBudgetKind).list(namespace)].flatMap(ownKey);
}

function selectorFor({ spec }: PodDisruptionBudget): Selector {
  const parsed = selectorOf(spec.selector);
  return parsed.ok ? parsed.value : "nothing";
}

async function observe(
  caches: Caches,
  { namespace, name }: Key,
  reader: Reader,
): Promise<DisruptionState | undefined> {
  const budget = caches(podDisruptionBudgetKind).get(namespace, name);
  if (budget === undefined) return undefined;
  const selector = selectorFor(budget);
  const pods = [...caches(podKind).list(namespace)].filter(({ metadata }) =>
    matchesLabels(selector, metadata.labels),
  );
  const others = [...caches(podDisruptionBudgetKind).list(namespace)].filter((b) => b !== budget);
  const contested = pods.filter((pod) => isFirstOfMany(budget, others, pod));
  return { budget, pods, contested, scale: await scaleOf(pods, caches, reader) };
}

/** Evictions of a pod with several budgets are refused, so one of the budgets records an Event. */
function isFirstOfMany(
  { metadata }: PodDisruptionBudget,
  others: readonly PodDisruptionBudget[],
  pod: Pod,
): boolean {
  const matching = others.filter((b) => matchesLabels(selectorFor(b), pod.metadata.labels));
  const name = metadata.name ?? "";
  return matching.length > 0 && matching.every((b) => (b.metadata.name ?? "") > name);
}

function decide(state: DisruptionState, nowMs: number): Outcome {
  const { budget, pods } = state;
  const events: EventNote[] =
    pods.length === 0 ? [note(budget, "Normal", "NoPods", "No matching pods found")] : [];
  for (const pod of state.contested) {
    const { namespace, name } = pod.metadata;
    const text = `Pod "${namespace}"/"${name}" matches multiple PodDisruptionBudgets.  Chose "${budget.metadata.name}" arbitrarily.`;
    events.push(note(pod, "Warning", "MultiplePodDisruptionBudgets", text));
  }
  const wanted = wantedHealthy(state);
  if ("error" in wanted) {
    const message = `Failed to calculate the number of expected pods: ${wanted.error}`;
    events.push(note(budget, "Warning", "CalculateExpectedPodCountFailed", message));
    const rule = "the number of expected pods is unknown: no disruption is allowed";
    return { events, ...write(budget, failSafe(budget, wanted.error, nowMs)), because: rule };
  }
  if (wanted.unmanaged)
    events.push(note(budget, "Warning", "UnmanagedPods", unmanagedText(budget)));
  const { disrupted, recheckInMs } = stillDisrupted(budget, pods, nowMs);
  for (const pod of overdue(budget, pods, nowMs)) {
    const { namespace } = budget.metadata;
    const message = `Pod was expected by PDB ${namespace}/${namespace} to be deleted but it wasn't`;
    events.push(note(pod, "Warning", "NotDeleted", message));
  }
  const status = statusOf(budget, pods, wanted, disrupted, nowMs);
  const rule =
    status.disruptionsAllowed > 0
      ? "more pods are healthy than the budget keeps: disruptions are allowed"
      : "no more pods are healthy than the budget keeps: no disruption is allowed";
  return because(rule, {
    events,
    ...write(budget, status),
    ...(recheckInMs === undefined ? {} : { recheckInMs }),
  });
}

type Wanted =
  | { readonly expected: number; readonly healthy: number; readonly unmanaged: boolean }
  | { readonly error: string };

function wantedHealthy({ budget, pods, scale }: DisruptionState): Wanted {
  const { maxUnavailable, minAvailable } = budget.spec;
  if (maxUnavailable === undefined && typeof minAvailable !== "string") {
    return { expected: pods.length, healthy: minAvailable ?? 0, unmanaged: false };
  }
  if ("error" in scale) return scale;
  const { expected, unmanaged } = scale;
  const scaled = scaledIntOrPercent(maxUnavailable ?? minAvailable ?? 0, expected, "up");
  if (!scaled.ok) return { error: scaled.error };
  const healthy =
    maxUnavailable === undefined ? scaled.value : Math.max(0, expected - scaled.value);
  return { expected, healthy, unmanaged };
}

function statusOf(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  wanted: { readonly expected: number; readonly healthy: number },
  disrupted: Readonly<Record<string, string>>,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const currentHealthy = pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      disrupted[pod.metadata.name ?? ""] === undefined &&
      isReady(pod),
  ).length;
  const allowed = wanted.expected <= 0 ? 0 : Math.max(0, currentHealthy - wanted.healthy);
  const { generation } = budget.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
    disruptionsAllowed: allowed,
    currentHealthy,
    desiredHealthy: wanted.healthy,
    expectedPods: wanted.expected,
    conditions: withAllowed(
      budget,
      allowed > 0 ? "True" : "False",
      allowed > 0 ? "SufficientPods" : "InsufficientPods",
      "",
      nowMs,
    ),
  };
}

/** If the counts cannot be computed, no disruption is allowed. */
function failSafe(
  budget: PodDisruptionBudget,
  error: string,
  nowMs: number,
): PodDisruptionBudgetStatus {
  return {
    ...budget.status,
    disruptionsAllowed: 0,
    conditions: withAllowed(budget, "False", "SyncFailed", error, nowMs),
  };
}

function withAllowed(
  budget: PodDisruptionBudget,
  status: "True" | "False",
  reason: string,
  message: string,
  nowMs: number,
): readonly MetaCondition[] {
  const type = "DisruptionAllowed";
  const conditions = budget.status.conditions ?? [];
  const old = conditions.find((condition) => condition.type === type);
  const { generation } = budget.metadata;
  const next: MetaCondition = {
    type,
    status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: old?.status === status ? old.lastTransitionTime : timeFromMs(nowMs),
    reason,
    message,
  };
  return old === undefined ? [...conditions, next] : conditions.map((c) => (c === old ? next : c));
}

function stillDisrupted(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  nowMs: number,
): { disrupted: Readonly<Record<string, string>>; recheckInMs: number | undefined } {
  const marks = marksOf(budget, pods).filter(({ dueMs }) => dueMs >= nowMs);
  const disrupted = Object.fromEntries(
    marks.map(({ pod, time }) => [pod.metadata.name ?? "", time]),
  );
  const recheckInMs =
    marks.length === 0 ? undefined : Math.min(...marks.map(({ dueMs }) => dueMs)) - nowMs + 1;
  return { disrupted, recheckInMs };
}

function overdue(budget: PodDisruptionBudget, pods: readonly Pod[], nowMs: number): readonly Pod[] {
  return marksOf(budget, pods)
    .filter(({ dueMs }) => dueMs < nowMs)
    .map(({ pod }) => pod);
}

/** Evictions that were granted for pods that are still there. */
function marksOf(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
): readonly { pod: Pod; time: string; dueMs: number }[] {
  const marked = budget.status.disruptedPods ?? {};
  return pods.flatMap((pod) => {
    const time = marked[pod.metadata.name ?? ""];
    if (time === undefined || pod.metadata.deletionTimestamp !== undefined) return [];
    return [{ pod, time, dueMs: timeToMs(time) + DELETION_TIMEOUT_MS }];
  });
}

function write(
  budget: PodDisruptionBudget,
  status: PodDisruptionBudgetStatus,
): Pick<Outcome, "writes"> {
  if (semanticEqual(budget.status, status)) return { writes: [] };
  return { writes: [updateStatus(podDisruptionBudgetKind, { ...budget, status })] };
}

function note(
  about: EventNote["about"],
  type: EventNote["type"],
  reason: string,
  message: string,
): EventNote {
  return { about, type, reason, message };
}

function unmanagedText({ spec }: PodDisruptionBudget): string {
  return (
    `Pods selected by this PodDisruptionBudget (selector: ${selectorText(spec.selector)}) were found ` +
    "to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. " +
    'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
  );
}
