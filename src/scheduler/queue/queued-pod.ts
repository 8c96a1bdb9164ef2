/** A pod that waits to be scheduled, with the history of its attempts. */
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";

export interface QueuedPod {
  info: PodInfo;
  attempts: number;
  /** Attempts that ended without a node, since the pod last changed. They lengthen the back-off. */
  unschedulableCount: number;
  /** Attempts that ended in an error. */
  errorCount: number;
  /** When it entered the queue, or was last tried. */
  sinceMs: number;
  firstAttemptMs: number | undefined;
  /** The plugins that rejected it in the last attempt; empty after an error. */
  rejectors: ReadonlySet<string>;
  /** Set while a preEnqueue plugin keeps it out of the queue. */
  gatedBy: string | undefined;
  /** It was last woken because it had waited for longest, not by a change. */
  wasFlushed: boolean;
  /** Decides between pods that have waited equally long. */
  readonly order: number;
}

export function createQueuedPod(info: PodInfo, nowMs: number, order: number): QueuedPod {
  return {
    info,
    attempts: 0,
    unschedulableCount: 0,
    errorCount: 0,
    sinceMs: nowMs,
    firstAttemptMs: undefined,
    rejectors: new Set(),
    gatedBy: undefined,
    wasFlushed: false,
    order,
  };
}
