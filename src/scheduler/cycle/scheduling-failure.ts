/** An attempt that failed: why, and what becomes of the pod. */
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { SchedulerMetrics } from "#scheduler/metrics/scheduler-metrics.ts";
import type { Rejected } from "#scheduler/plugin.ts";
import type { Nominator } from "#scheduler/queue/nominator.ts";
import type { QueuedPod } from "#scheduler/queue/queued-pod.ts";
import type { SchedulingQueue } from "#scheduler/queue/scheduling-queue.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { fitErrorMessage } from "./fit-error.ts";
import type { PodStatusWriter } from "./pod-status-writer.ts";
import type { SchedulerEvents } from "./scheduler-events.ts";

export interface Failure {
  readonly message: string;
  readonly reason: "Unschedulable" | "SchedulerError";
  readonly rejectors: ReadonlySet<string>;
  /** Undefined leaves the pod's nomination as it is. */
  readonly nominatedNode: string | undefined;
}

/** A plugin refused the node after it was chosen. */
export function nodeFailure(node: NodeInfo, plugin: string, verdict: Rejected): Failure {
  const diagnosis = {
    nodeCount: 1,
    verdicts: new Map([[node, verdict]]),
    absent: undefined,
    preFilterMessage: undefined,
    plugins: new Set([plugin]),
  };
  return {
    message: fitErrorMessage(diagnosis, ""),
    reason: "Unschedulable",
    rejectors: diagnosis.plugins,
    nominatedNode: "",
  };
}

export function errorFailure(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  return { message, reason: "SchedulerError", rejectors: new Set(), nominatedNode: "" };
}

export interface FailureSurroundings {
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly objects: Pick<ClusterObjects, "pods">;
  readonly events: SchedulerEvents;
  readonly statuses: PodStatusWriter;
  readonly metrics: SchedulerMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Puts the pod back into the queue unless it is gone or bound, and says why in an event and its status. */
export function putBackFailed(
  surroundings: FailureSurroundings,
  queued: QueuedPod,
  schedulerName: string,
  failure: Failure,
  startMs: number,
): void {
  const { queue, nominator, objects, events, statuses, metrics, logger, clock } = surroundings;
  const { message, reason, rejectors, nominatedNode } = failure;
  const { info } = queued;
  const isError = reason === "SchedulerError";
  metrics.failed(schedulerName, isError, clock.elapsedMs() - startMs);
  const cached = objects.pods.get(info.namespace, info.name);
  if (
    cached === undefined ||
    cached.metadata.uid !== info.uid ||
    (cached.spec.nodeName ?? "") !== ""
  ) {
    queue.done(info.uid);
    return;
  }
  if (isError) logger.error("a pod could not be scheduled", { pod: info.key, why: message });
  queued.info = cached === info.pod ? info : new PodInfo(cached);
  queue.putBack(queued, rejectors, isError ? "error" : "rejected");
  if (nominatedNode !== undefined) nominator.add(queued.info, nominatedNode);
  else nominator.update(queued.info);
  events.record({
    about: cached,
    type: "Warning",
    reason: "FailedScheduling",
    action: "Scheduling",
    message,
    schedulerName,
  });
  statuses.write(cached, {
    condition: { reason, message },
    ...(nominatedNode === undefined ? {} : { nominatedNodeName: nominatedNode }),
  });
}
