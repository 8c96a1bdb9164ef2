/** The status of a Deployment: counts summed over its ReplicaSets, and the conditions. */
import type {
  Deployment,
  DeploymentCondition,
  DeploymentStatus,
  ReplicaSet,
} from "#api/generated/apps.v1.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { findCondition, withCondition, withoutCondition } from "../shared/conditions.ts";
import { withoutZeros } from "../shared/counters.ts";
import { allOf, type Sets, totalSize } from "./rollout.ts";
import { desiredReplicas, maxUnavailable } from "./strategy.ts";

const NO_DEADLINE = 2 ** 31 - 1;

export function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== NO_DEADLINE;
}

export function progressing(
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
  nowMs: number,
): DeploymentCondition {
  const lastUpdateTime = timeFromMs(nowMs);
  return {
    type: "Progressing",
    status,
    lastUpdateTime,
    lastTransitionTime: lastUpdateTime,
    reason,
    message,
  };
}

/** Counts and the Available condition; other conditions are taken over. */
export function countedStatus(
  deployment: Deployment,
  sets: Sets,
  conditions: readonly DeploymentCondition[],
  nowMs: number,
): DeploymentStatus {
  const all = allOf(sets);
  const sum = (count: (set: ReplicaSet) => number | undefined): number =>
    all.reduce((total, set) => total + (count(set) ?? 0), 0);
  const available = sum(({ status }) => status.availableReplicas);
  const enough = available >= desiredReplicas(deployment) - maxUnavailable(deployment);
  const { collisionCount } = deployment.status;
  return {
    ...(deployment.metadata.generation === undefined
      ? {}
      : { observedGeneration: deployment.metadata.generation }),
    ...withoutZeros({
      replicas: sum(({ status }) => status.replicas),
      updatedReplicas: sets.current?.status.replicas ?? 0,
      readyReplicas: sum(({ status }) => status.readyReplicas),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, totalSize(all) - available),
    }),
    terminatingReplicas: sum(({ status }) => status.terminatingReplicas),
    conditions: withCondition(conditions, availability(enough, nowMs), nowMs),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  };
}

/** The same during a rollout, with what can be said of its progress. */
export function rolloutStatus(
  deployment: Deployment,
  sets: Sets,
  conditions: readonly DeploymentCondition[],
  nowMs: number,
): DeploymentStatus {
  const status = countedStatus(deployment, sets, conditions, nowMs);
  return {
    ...status,
    conditions: withReplicaFailure(judged(deployment, sets, conditions, status, nowMs), sets),
  };
}

function judged(
  deployment: Deployment,
  { current }: Sets,
  known: readonly DeploymentCondition[],
  status: DeploymentStatus,
  nowMs: number,
): readonly DeploymentCondition[] {
  const conditions = status.conditions ?? [];
  if (!hasDeadline(deployment)) return withoutCondition(conditions, "Progressing");
  const now = findCondition(known, "Progressing");
  const wasComplete =
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) &&
    now?.reason === "NewReplicaSetAvailable";
  if (wasComplete) return conditions;

  const subject =
    current === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${current.metadata.name}"`;
  if (isComplete(deployment, status)) {
    const done = progressing(
      "True",
      "NewReplicaSetAvailable",
      `${subject} has successfully progressed.`,
      nowMs,
    );
    return withCondition(conditions, done, nowMs);
  }
  if (hasProgressed(deployment.status, status)) {
    const moved = progressing("True", "ReplicaSetUpdated", `${subject} is progressing.`, nowMs);
    const since = now?.status === "True" ? now.lastTransitionTime : undefined;
    // Progress moves lastUpdateTime although status and reason stay, so the condition is replaced.
    const rest = withoutCondition(conditions, "Progressing");
    return [...rest, since === undefined ? moved : { ...moved, lastTransitionTime: since }];
  }
  if (isTimedOut(deployment, now, nowMs)) {
    const late = progressing(
      "False",
      "ProgressDeadlineExceeded",
      `${subject} has timed out progressing.`,
      nowMs,
    );
    return withCondition(conditions, late, nowMs);
  }
  return conditions;
}

export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const wanted = desiredReplicas(deployment);
  return (
    (status.updatedReplicas ?? 0) === wanted &&
    (status.replicas ?? 0) === wanted &&
    (status.availableReplicas ?? 0) === wanted &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function hasProgressed(old: DeploymentStatus, next: DeploymentStatus): boolean {
  const outdated = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number =>
    replicas - updatedReplicas;
  return (
    (next.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    outdated(next) < outdated(old) ||
    (next.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (next.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

function isTimedOut(
  deployment: Deployment,
  now: DeploymentCondition | undefined,
  nowMs: number,
): boolean {
  if (now === undefined || now.reason === "NewReplicaSetAvailable") return false;
  if (now.reason === "ProgressDeadlineExceeded") return true;
  return deadlineMs(deployment, now) < nowMs;
}

function deadlineMs({ spec }: Deployment, { lastUpdateTime }: DeploymentCondition): number {
  return timeToMs(lastUpdateTime ?? "") + (spec.progressDeadlineSeconds ?? 0) * 1000;
}

/** When to look whether a rollout that stands still has missed its deadline. */
export function deadlineCheckInMs(
  deployment: Deployment,
  status: DeploymentStatus,
  nowMs: number,
): number | undefined {
  const now = findCondition(status.conditions, "Progressing");
  if (!hasDeadline(deployment) || now === undefined) return undefined;
  if (isComplete(deployment, status) || now.reason === "ProgressDeadlineExceeded") return undefined;
  return Math.max(0, deadlineMs(deployment, now) - nowMs) + 1000;
}

function availability(enough: boolean, nowMs: number): DeploymentCondition {
  const lastUpdateTime = timeFromMs(nowMs);
  return {
    type: "Available",
    status: enough ? "True" : "False",
    lastUpdateTime,
    lastTransitionTime: lastUpdateTime,
    reason: enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
    message: enough
      ? "Deployment has minimum availability."
      : "Deployment does not have minimum availability.",
  };
}

/** A ReplicaSet that cannot make its pods is the Deployment's problem too. */
function withReplicaFailure(
  conditions: readonly DeploymentCondition[],
  sets: Sets,
): readonly DeploymentCondition[] {
  const ordered = [...(sets.current === undefined ? [] : [sets.current]), ...sets.old];
  const failure = ordered
    .map(({ status }) => findCondition(status.conditions, "ReplicaFailure"))
    .find(Boolean);
  const rest = withoutCondition(conditions, "ReplicaFailure");
  if (failure === undefined) return rest;
  const known = findCondition(conditions, "ReplicaFailure");
  if (known !== undefined && known.status === failure.status && known.reason === failure.reason)
    return conditions;
  const lastTransitionTime = failure.lastTransitionTime ?? null;
  return [...rest, { ...failure, lastTransitionTime, lastUpdateTime: lastTransitionTime }];
}
