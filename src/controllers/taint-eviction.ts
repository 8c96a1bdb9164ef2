/** Deletes pods that do not tolerate what their node was tainted with, or not for so long. */

import type { Node, Pod, Taint, Toleration } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { tolerates } from "#api/kinds/core/v1/node/tolerates.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  type Change,
  defineController,
  type EventNote,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { patch, remove } from "#runtime/writes.ts";
import { measureEvictions } from "./metrics/nodes.ts";
import { PODS_BY_NODE, podsByNode } from "./shared/pods-by-node.ts";

export interface EvictionState {
  readonly key: Key;
  readonly pod: Pod | undefined;
  /** Those of the node that do not let pods run; undefined if the node is not known. */
  readonly taints: readonly Taint[] | undefined;
  readonly scheduled: Scheduled | undefined;
}

interface Scheduled {
  readonly uid: string | undefined;
  readonly dueMs: number;
}

export const taintEviction = defineController<EvictionState, Scheduled>({
  name: "taint-eviction-controller",
  rule: "a pod on a node with NoExecute taints goes when the time that it tolerates them is over",
  feeds: [
    { kind: podKind, keys: ownKey, keysOfChange: keysOfPodChange },
    { kind: nodeKind, keys: keysOfNode, keysOfChange: keysOfNodeChange },
  ],
  indexes: [podsByNode],
  observe: (caches, key, _reader, scheduled) => {
    const pod = caches(podKind).get(key.namespace, key.name);
    const node = caches(nodeKind).get(undefined, pod?.spec.nodeName ?? "");
    return {
      key,
      pod,
      taints: node && noExecute(node),
      scheduled,
    };
  },
  decide,
  measure: measureEvictions,
});

function keysOfPodChange({ next, old }: Change<Pod>, caches: Caches): readonly Key[] {
  const pod = next ?? old;
  if (pod === undefined) return [];
  const isSame =
    next !== undefined &&
    old !== undefined &&
    next.metadata.uid === old.metadata.uid &&
    next.spec.nodeName === old.spec.nodeName &&
    semanticEqual(next.spec.tolerations, old.spec.tolerations);
  const isConcerned = (one: Pod | undefined): boolean =>
    one !== undefined && mayHaveToGo(one, caches);
  return isSame || !(isConcerned(next) || isConcerned(old)) ? [] : ownKey(pod);
}

/** Nothing is scheduled for a pod on a node without such taints. A node that gets some queues its pods. */
function mayHaveToGo({ spec: { nodeName = "" } }: Pod, caches: Caches): boolean {
  if (nodeName === "") return false;
  const node = caches(nodeKind).get(undefined, nodeName);
  return node === undefined || noExecute(node).length > 0;
}

function keysOfNode({ metadata }: Node, caches: Caches): readonly Key[] {
  return [...caches(podKind).byIndex(PODS_BY_NODE, metadata.name ?? "")].flatMap(ownKey);
}

function keysOfNodeChange({ next, old }: Change<Node>, caches: Caches): readonly Key[] {
  if (next === undefined) return [];
  const before = old === undefined ? [] : noExecute(old);
  return semanticEqual(noExecute(next), before) ? [] : keysOfNode(next, caches);
}

function noExecute({ spec }: Node): readonly Taint[] {
  return (spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

function decide({ key, pod, taints, scheduled }: EvictionState, nowMs: number): Outcome<Scheduled> {
  const cancelled: Outcome =
    scheduled === undefined
      ? idle
      : {
          events: [note(key, "Cancelling deletion of Pod")],
          remember: undefined,
          because: "the pod is gone, or tolerates the taints of its node",
        };
  if (pod === undefined) return cancelled;
  const { uid, deletionTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined) return { remember: undefined };
  const scheduledMs = scheduled?.uid === uid ? scheduled?.dueMs : undefined;
  const dueMs = taints === undefined ? scheduledMs : evictionMs(pod, taints, scheduledMs, nowMs);
  if (dueMs === undefined) return cancelled;
  if (nowMs < dueMs) return { remember: { uid, dueMs }, recheckInMs: dueMs - nowMs };
  const rule = "the time is over that the pod tolerates a NoExecute taint of its node";
  return { ...eviction(key, pod, nowMs), remember: undefined, because: rule };
}

/** When the pod has to go; undefined if it may stay. */
function evictionMs(
  { spec: { tolerations = [] } }: Pod,
  taints: readonly Taint[],
  scheduledMs: number | undefined,
  nowMs: number,
): number | undefined {
  if (taints.length === 0) return undefined;
  const used: Toleration[] = [];
  for (const taint of taints) {
    const found = tolerations.find((toleration) => tolerates(toleration, taint));
    if (found === undefined) return nowMs;
    used.push(found);
  }
  const limits = used.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  if (limits.length === 0) return undefined;
  const seconds = Math.min(...limits);
  if (seconds <= 0) return nowMs;
  // A time that has begun to run is not begun anew by another taint.
  return scheduledMs ?? nowMs + seconds * 1000;
}

function eviction(key: Key, pod: Pod, nowMs: number): Outcome {
  const { generation } = pod.metadata;
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "DeletionByTaintManager",
    message: "Taint manager: deleting due to NoExecute taint",
    lastTransitionTime: timeFromMs(nowMs),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  return {
    events: [note(key, "Marking for deletion Pod")],
    writes: [
      patch(podKind, pod, "strategic", { status: { conditions: [condition] } }, "status"),
      remove(podKind, pod),
    ],
  };
}

function note({ namespace = "", name }: Key, text: string): EventNote {
  return {
    about: { apiVersion: "v1", kind: "Pod", namespace, name },
    type: "Normal",
    reason: "TaintManagerEviction",
    message: `${text} ${namespace}/${name}`,
  };
}
