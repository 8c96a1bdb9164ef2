/**
 * Takes back the word that a pod is about to be disrupted when nothing came of it. What a kubelet said
 * stands: it may take its time.
 */

import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import { defineController, idle, type Outcome, ownKey, recheckIn } from "#runtime/controller.ts";
import { updateStatus } from "#runtime/writes.ts";
import { isFinished } from "../shared/pods.ts";

const TARGET = "DisruptionTarget";
const BY_KUBELET = "TerminationByKubelet";
const STALE_MS = 120_000;

export const staleDisruptionTargets = defineController<Pod | undefined>({
  name: "disruption-controller",
  rule: "a DisruptionTarget condition of a pod that was not deleted in time is taken back",
  component: "controllermanager",
  feeds: [{ kind: podKind, keys: (pod: Pod) => (isTarget(pod) ? ownKey(pod) : []) }],
  observe: (caches, { namespace, name }) => caches(podKind).get(namespace, name),
  decide: (pod, nowMs) => (pod === undefined ? idle : decide(pod, nowMs)),
});

function isTarget({ metadata, status }: Pod): boolean {
  const target = status.conditions?.find(({ type }) => type === TARGET);
  const stands = target === undefined || target.status !== "True" || target.reason === BY_KUBELET;
  return !stands && metadata.deletionTimestamp === undefined && !isFinished({ status });
}

export function decide(pod: Pod, nowMs: number): Outcome {
  if (!isTarget(pod)) return idle;
  const { conditions = [] } = pod.status;
  const { lastTransitionTime } = conditions.find(({ type }) => type === TARGET)!;
  const dueMs = (lastTransitionTime ? timeToMs(lastTransitionTime) : 0) + STALE_MS;
  if (nowMs < dueMs) return recheckIn(dueMs - nowMs);
  const { generation } = pod.metadata;
  const taken = {
    type: TARGET,
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: timeFromMs(nowMs),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  } as const;
  const next = conditions.map((one) => (one.type === TARGET ? taken : one));
  return {
    writes: [updateStatus(podKind, { ...pod, status: { ...pod.status, conditions: next } })],
  };
}
