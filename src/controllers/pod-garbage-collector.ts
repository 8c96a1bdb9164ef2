/**
 * Deletes orphaned pods: on nodes that are gone or out of service, terminating before they were
 * scheduled, and the oldest terminated pods beyond the threshold.
 */

import type { Node, Pod, PodCondition } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import {
  because,
  type Caches,
  type Change,
  type Controller,
  defineController,
  type IndexSpec,
  idle,
  type Key,
  type Outcome,
  type Reader,
} from "#runtime/controller.ts";
import { patch, remove, type Write } from "#runtime/writes.ts";
import { isFinished } from "./shared/pods.ts";
import { PODS_BY_NODE, podsByNode } from "./shared/pods-by-node.ts";

/** A node that disappears may come back: a kubelet registers itself again. */
const QUARANTINE_MS = 40_000;
/**
 * The server deletes a pod without a node in two writes, the first of which sets deletionTimestamp.
 * A pod that is still there after this time was left by a server that died between them.
 */
const UNSCHEDULED_GRACE_MS = 2_000;
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
const NO_KEYS: readonly Key[] = [];
const ENDED: Key = { resource: "ended", name: "ended" };

export type PodGarbageState =
  | { readonly about: "pod"; readonly pod: Pod; readonly node: Node | undefined }
  | {
      readonly about: "missing-node";
      readonly pods: readonly Pod[];
      /** Since when it is known to be missing; undefined: just found out. */
      readonly sinceMs: number | undefined;
    }
  | { readonly about: "ended"; readonly pods: readonly Pod[]; readonly threshold: number }
  | { readonly about: "nothing" };

const endedPods: IndexSpec<Pod> = {
  kind: podKind,
  name: "ended",
  values: (pod) => (isFinished(pod) ? ["yes"] : []),
};

/** `threshold`: how many pods that have ended may stay; zero for any number. */
export function createPodGarbageCollector(threshold: number): Controller<PodGarbageState, number> {
  return defineController<PodGarbageState, number>({
    name: "pod-garbage-collector-controller",
    rule: "pods that ended beyond the threshold, lost their node or never got one are deleted",
    feeds: [
      { kind: podKind, keys: keysOfPod, keysOfChange: keysOfPodChange },
      { kind: nodeKind, keys: () => [], keysOfChange: keysOfNodeChange },
    ],
    indexes: [podsByNode, endedPods],
    observe: (caches, key, reader, sinceMs) => observe(caches, key, reader, sinceMs, threshold),
    decide,
  });
}

function keysOfPod(pod: Pod, caches: Caches): readonly Key[] {
  const { namespace, name = "", deletionTimestamp } = pod.metadata;
  const { nodeName = "" } = pod.spec;
  return [
    ...(deletionTimestamp === undefined ? [] : [{ resource: "pod", namespace, name }]),
    ...(nodeName === "" || caches(nodeKind).get(undefined, nodeName) !== undefined
      ? []
      : [{ resource: "node", name: nodeName }]),
    ...(isFinished(pod) ? [ENDED] : []),
  ];
}

/** What a pod was before, and a pod that is gone, is nothing to act on. */
function keysOfPodChange({ next }: Change<Pod>, caches: Caches): readonly Key[] {
  return next === undefined ? NO_KEYS : keysOfPod(next, caches);
}

/** Heartbeats change nothing here; a node that comes, goes or is given up does. */
function keysOfNodeChange({ old, next }: Change<Node>, caches: Caches): readonly Key[] {
  const name = (next ?? old)?.metadata.name ?? "";
  const isNewOrGone = old === undefined || next === undefined;
  if (!isNewOrGone && isGivenUp(old) === isGivenUp(next)) return [];
  const leaving = [...caches(podKind).byIndex(PODS_BY_NODE, name)].filter(
    ({ metadata }) => metadata.deletionTimestamp !== undefined,
  );
  return [{ resource: "node", name }, ...leaving.flatMap((pod) => keysOfPod(pod, caches))];
}

function observe(
  caches: Caches,
  { resource, namespace, name }: Key,
  reader: Reader,
  missingSinceMs: number | undefined,
  threshold: number,
): PodGarbageState | Promise<PodGarbageState> {
  const pods = caches(podKind);
  if (resource === "ended") {
    return { about: "ended", pods: [...pods.byIndex(endedPods.name, "yes")], threshold };
  }
  if (resource === "node") return observeNode(caches, name, reader, missingSinceMs);
  const pod = pods.get(namespace, name);
  if (pod === undefined) return { about: "nothing" };
  return { about: "pod", pod, node: caches(nodeKind).get(undefined, pod.spec.nodeName ?? "") };
}

async function observeNode(
  caches: Caches,
  name: string,
  reader: Reader,
  sinceMs: number | undefined,
): Promise<PodGarbageState> {
  const pods = [...caches(podKind).byIndex(PODS_BY_NODE, name)];
  const isKnown = caches(nodeKind).get(undefined, name) !== undefined;
  // The cache may not have a new node yet, so the server is queried before pods are deleted.
  const isGone = !isKnown && pods.length > 0 && (await isAbsent(reader, name));
  return isGone ? { about: "missing-node", pods, sinceMs } : { about: "nothing" };
}

async function isAbsent(reader: Reader, name: string): Promise<boolean> {
  const found = await reader.get(nodeKind, { name });
  return !found.ok && found.status.reason === "NotFound";
}

function decide(state: PodGarbageState, nowMs: number): Outcome<number> {
  switch (state.about) {
    case "pod": {
      const { pod, node } = state;
      if (!isAbandoned(pod, node)) return idle;
      const waitMs = unscheduledGraceMs(pod, nowMs);
      if (waitMs > 0) return { recheckInMs: waitMs };
      return { writes: failAndDelete(pod), because: "no kubelet will end the deleted pod" };
    }
    case "missing-node":
      return decideMissing(state, nowMs);
    case "ended": {
      const { pods, threshold } = state;
      const surplus = threshold > 0 ? pods.length - threshold : 0;
      if (surplus <= 0) return idle;
      return {
        writes: [[...pods].sort(byUse).slice(0, surplus).map(forceDelete)],
        because: "more pods have ended than the threshold keeps",
      };
    }
    default:
      return { remember: undefined };
  }
}

function decideMissing(
  state: Extract<PodGarbageState, { about: "missing-node" }>,
  nowMs: number,
): Outcome<number> {
  const { pods, sinceMs = nowMs } = state;
  const dueMs = sinceMs + QUARANTINE_MS;
  if (nowMs < dueMs) return { recheckInMs: dueMs - nowMs, remember: sinceMs };
  const left = pods.filter((pod) => !isForced(pod));
  return because("the node of the pods does not exist", {
    writes: left.flatMap((pod) => failAndDelete(pod, nodeIsGone(pod, nowMs))),
    remember: sinceMs,
  });
}

function nodeIsGone({ metadata: { generation } }: Pod, nowMs: number): PodCondition {
  return {
    type: "DisruptionTarget",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: timeFromMs(nowMs),
    reason: "DeletionByPodGC",
    message: "PodGC: node no longer exists",
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

/** Deleted, but no kubelet will ever say that it has ended. */
function isAbandoned(pod: Pod, node: Node | undefined): boolean {
  if (pod.metadata.deletionTimestamp === undefined || isForced(pod)) return false;
  if ((pod.spec.nodeName ?? "") === "") return true;
  return node !== undefined && isGivenUp(node);
}

/** How long a pod without a node is still left to the server that deletes it. */
function unscheduledGraceMs({ metadata, spec }: Pod, nowMs: number): number {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if ((spec.nodeName ?? "") !== "" || deletionGracePeriodSeconds !== 0) return 0;
  return Date.parse(deletionTimestamp ?? "") + UNSCHEDULED_GRACE_MS - nowMs;
}

function isGivenUp({ spec, status }: Node): boolean {
  const isReady = status.conditions?.some((c) => c.type === "Ready" && c.status === "True");
  const isOut = spec.taints?.some(({ key }) => key === OUT_OF_SERVICE) ?? false;
  return isOut && isReady !== true;
}

/** It has ended and is deleted without grace: only a finalizer keeps it. */
function isForced({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    metadata.deletionGracePeriodSeconds === 0 &&
    isFinished({ status })
  );
}

function failAndDelete(pod: Pod, condition?: PodCondition): readonly Write[] {
  if (isFinished(pod)) return [forceDelete(pod)];
  const { generation } = pod.metadata;
  const status = {
    phase: "Failed",
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(condition === undefined ? {} : { conditions: [condition] }),
  };
  return [patch(podKind, pod, "strategic", { status }, "status"), forceDelete(pod)];
}

function forceDelete(pod: Pod): Write {
  return remove(podKind, pod, { gracePeriodSeconds: 0 });
}

/** Evicted pods first, then the oldest. */
function byUse(a: Pod, b: Pod): number {
  const isEvicted = ({ status }: Pod): number =>
    Number(status.phase === "Failed" && status.reason === "Evicted");
  const created = ({ metadata }: Pod): string => metadata.creationTimestamp ?? "";
  return (
    isEvicted(b) - isEvicted(a) ||
    compare(created(a), created(b)) ||
    compare(a.metadata.name ?? "", b.metadata.name ?? "")
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
