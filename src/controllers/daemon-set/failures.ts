/**
 * Counts recent failures of daemon pods by node, for a back-off. Failed pods are deleted, so the count
 * is not in the cluster's state; without it a node that rejects a pod would get new ones without end.
 */
import type { DaemonSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { finishedAtMs } from "../shared/pods.ts";

const FIRST_DELAY_MS = 1_000;
const DELAY_MAX_MS = 900_000;
/** A failure after so long a time of peace is a first one again. */
const FORGET_AFTER_MS = 2 * DELAY_MAX_MS;

export interface Failures {
  /** Which set in which version: another one starts afresh. */
  readonly of: string;
  readonly byNode: ReadonlyMap<string, Failure>;
}

/** The last pod that failed on a node. */
interface Failure {
  readonly uid: string;
  readonly createdAtMs: number;
  /** When it may be deleted to make place for the next: the first one at once. */
  readonly removableAtMs: number;
  /** For the next one. */
  readonly delayMs: number;
}

/** With what failed since; nodes without pods of the set are kept only while it matters. */
export function noteFailures(
  known: Failures | undefined,
  set: DaemonSet,
  podsByNode: ReadonlyMap<string, readonly Pod[]>,
  nowMs: number,
): Failures {
  const of = `${set.metadata.uid}/${set.status.observedGeneration ?? 0}`;
  const byNode = new Map<string, Failure>();
  for (const [name, failure] of known?.of === of ? known.byNode : []) {
    if (nowMs - failure.removableAtMs <= FORGET_AFTER_MS) byNode.set(name, failure);
  }
  for (const [name, pods] of podsByNode) {
    for (const pod of pods.filter(({ status }) => status.phase === "Failed").sort(byCreation)) {
      const last = byNode.get(name);
      if (last === undefined || isLater(pod, last)) byNode.set(name, failureOf(pod, last));
    }
  }
  return { of, byNode };
}

export function removableAtMs({ byNode }: Failures, nodeName: string, pod: Pod): number {
  const last = byNode.get(nodeName);
  return last?.uid === pod.metadata.uid ? (last?.removableAtMs ?? 0) : createdAtMs(pod);
}

/** A pod is made when the one before is deleted, so the pause counts from its creation. */
function failureOf(pod: Pod, last: Failure | undefined): Failure {
  const madeAtMs = createdAtMs(pod);
  const isFirst = last === undefined || finishedAtMs(pod) - madeAtMs > FORGET_AFTER_MS;
  return {
    uid: pod.metadata.uid ?? "",
    createdAtMs: madeAtMs,
    removableAtMs: isFirst ? madeAtMs : madeAtMs + last.delayMs,
    delayMs: isFirst ? FIRST_DELAY_MS : Math.min(last.delayMs * 2, DELAY_MAX_MS),
  };
}

function isLater(pod: Pod, last: Failure): boolean {
  return pod.metadata.uid !== last.uid && createdAtMs(pod) >= last.createdAtMs;
}

function byCreation(a: Pod, b: Pod): number {
  return createdAtMs(a) - createdAtMs(b);
}

function createdAtMs({ metadata }: Pod): number {
  return metadata.creationTimestamp === undefined ? 0 : timeToMs(metadata.creationTimestamp);
}
