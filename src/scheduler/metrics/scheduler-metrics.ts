/** The scheduler's metrics, under upstream's names. */
import type { Counter, Gauge, Histogram, Metrics } from "#lib/metrics.ts";
import type { QueuedPod } from "#scheduler/queue/queued-pod.ts";
import type { SchedulingQueue } from "#scheduler/queue/scheduling-queue.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import { exponential } from "./buckets.ts";
import { eventLabel } from "./queue-metrics.ts";

const ATTEMPTS_LABEL_MAX = 15;

export interface SchedulerMetrics {
  readonly algorithmDuration: Histogram;
  readonly preemptionAttempts: Counter;
  readonly preemptionVictims: Histogram;
  /** Pods that are being bound. */
  readonly binding: Gauge;
  permitWaited(result: "Success" | "Unschedulable", durationMs: number): void;
  preempted(isOk: boolean, durationMs: number): void;
  /** A change of the cluster was taken in. */
  eventHandled(event: string, durationMs: number): void;
  claimCreated(isOk: boolean): void;
  volumeStageFailed(stage: "predicate" | "bind"): void;
  /** One device with binding conditions was waited for. */
  waitedForDevice(profile: string, driver: string, status: string, durationMs: number): void;
  scheduled(profile: string, pod: QueuedPod, durationMs: number, nowMs: number): void;
  failed(profile: string, isError: boolean, durationMs: number): void;
}

export function registerSchedulerMetrics(
  metrics: Metrics,
  { queue, snapshot }: { readonly queue: SchedulingQueue; readonly snapshot: Snapshot },
): SchedulerMetrics {
  const attempts = metrics.counter({
    name: "scheduler_schedule_attempts_total",
    help: "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
    labels: ["result", "profile"],
  });
  const duration = metrics.histogram({
    name: "scheduler_scheduling_attempt_duration_seconds",
    help: "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    labels: ["result", "profile"],
    buckets: exponential(0.001, 2, 15),
  });
  const sli = metrics.histogram({
    name: "scheduler_pod_scheduling_sli_duration_seconds",
    help: "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.",
    labels: ["attempts"],
    buckets: exponential(0.01, 2, 20),
  });
  const podAttempts = metrics.histogram({
    name: "scheduler_pod_scheduling_attempts",
    help: "Number of attempts to successfully schedule a pod.",
    buckets: exponential(1, 2, 5),
  })();
  registerGauges(metrics, queue, snapshot);
  const observed = new Map<string, { attempts: Counter; seconds: Histogram }>();
  const observe = (result: string, profile: string, durationMs: number): void => {
    const key = `${result} ${profile}`;
    let series = observed.get(key);
    if (series === undefined) {
      series = { attempts: attempts(result, profile), seconds: duration(result, profile) };
      observed.set(key, series);
    }
    series.attempts.add(1);
    series.seconds.observe(durationMs / 1000);
  };
  const handling = metrics.histogram({
    name: "scheduler_event_handling_duration_seconds",
    help: "Event handling latency in seconds.",
    labels: ["event"],
    buckets: exponential(0.0001, 2, 12),
  });
  const handlingOf = new Map<string, Histogram>();
  const sliByAttempts: Histogram[] = [];
  const afterFlush = metrics.counter({
    name: "scheduler_pod_scheduled_after_flush_total",
    help: "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
  })();
  return {
    ...registerTaskMetrics(metrics),
    algorithmDuration: metrics.histogram({
      name: "scheduler_scheduling_algorithm_duration_seconds",
      help: "Scheduling algorithm latency in seconds",
      buckets: exponential(0.001, 2, 15),
    })(),
    preemptionAttempts: metrics.counter({
      name: "scheduler_preemption_attempts_total",
      help: "Total preemption attempts in the cluster till now",
    })(),
    preemptionVictims: metrics.histogram({
      name: "scheduler_preemption_victims",
      help: "Number of selected preemption victims",
      buckets: exponential(1, 2, 7),
    })(),
    scheduled: (profile, pod, durationMs, nowMs) => {
      observe("scheduled", profile, durationMs);
      podAttempts.observe(pod.attempts);
      if (pod.wasFlushed) afterFlush.add(1);
      const count = Math.min(pod.attempts, ATTEMPTS_LABEL_MAX);
      sliByAttempts[count] ??= sli(count === ATTEMPTS_LABEL_MAX ? `${count}+` : String(count));
      sliByAttempts[count].observe((nowMs - (pod.firstAttemptMs ?? nowMs)) / 1000);
    },
    eventHandled: (event, durationMs) => {
      let histogram = handlingOf.get(event);
      if (histogram === undefined) {
        histogram = handling(event);
        handlingOf.set(event, histogram);
      }
      histogram.observe(durationMs / 1000);
    },
    failed: (profile, isError, durationMs) =>
      observe(isError ? "error" : "unschedulable", profile, durationMs),
  };
}

type TaskMetrics = Pick<
  SchedulerMetrics,
  | "binding"
  | "permitWaited"
  | "preempted"
  | "claimCreated"
  | "volumeStageFailed"
  | "waitedForDevice"
>;

/** Of what runs beside the scheduling loop. */
function registerTaskMetrics(metrics: Metrics): TaskMetrics {
  const permitWait = metrics.histogram({
    name: "scheduler_permit_wait_duration_seconds",
    help: "Duration of waiting on permit.",
    labels: ["result"],
    buckets: exponential(0.001, 2, 15),
  });
  const preemptions = metrics.counter({
    name: "scheduler_preemption_goroutines_execution_total",
    help: "Number of preemption goroutines executed.",
    labels: ["result"],
  });
  const preemptionDuration = metrics.histogram({
    name: "scheduler_preemption_goroutines_duration_seconds",
    help: "Duration in seconds for running goroutines for the preemption.",
    labels: ["result"],
    buckets: exponential(0.01, 2, 20),
  });
  const claims = metrics.counter({
    name: "scheduler_resourceclaim_creates_total",
    help: "Number of ResourceClaims creation requests within scheduler",
    labels: ["status"],
  });
  const volumeErrors = metrics.counter({
    name: "scheduler_volume_scheduling_stage_error_total",
    help: "Volume scheduling stage error count",
    labels: ["operation"],
  });
  const deviceLabels = ["profile", "driver", "status"];
  const devices = metrics.counter({
    name: "scheduler_dra_bindingconditions_allocations_total",
    help: "Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt",
    labels: deviceLabels,
  });
  const deviceWait = metrics.histogram({
    name: "scheduler_dra_bindingconditions_wait_duration_seconds",
    help: "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
    labels: deviceLabels,
    buckets: exponential(0.1, 2, 14),
  });
  const goroutines = metrics.gauge({
    name: "scheduler_goroutines",
    help: "Number of running goroutines split by the work they do such as binding.",
    labels: ["operation"],
  });
  return {
    binding: goroutines("binding"),
    permitWaited: (result, durationMs) => permitWait(result).observe(durationMs / 1000),
    preempted: (isOk, durationMs) => {
      const result = isOk ? "success" : "error";
      preemptions(result).add(1);
      preemptionDuration(result).observe(durationMs / 1000);
    },
    volumeStageFailed: (stage) => volumeErrors(stage).add(1),
    claimCreated: (isOk) => claims(isOk ? "success" : "failure").add(1),
    waitedForDevice: (profile, driver, status, durationMs) => {
      devices(profile, driver, status).add(1);
      deviceWait(profile, driver, status).observe(durationMs / 1000);
    },
  };
}

function registerGauges(metrics: Metrics, queue: SchedulingQueue, snapshot: Snapshot): void {
  metrics.gaugesOf(
    {
      name: "scheduler_pending_pods",
      help: "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never attempted to schedule because they are gated.",
      labels: ["queue"],
    },
    () => Object.entries(queue.sizes).map(([name, value]) => ({ labels: [name], value })),
  );
  metrics.gaugesOf(
    {
      name: "scheduler_unschedulable_pods",
      help: "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
      labels: ["plugin", "profile"],
    },
    () =>
      queue.rejections.map(({ plugin, profile, pods }) => ({
        labels: [plugin, profile],
        value: pods,
      })),
  );
  metrics.gaugesOf(
    {
      name: "scheduler_inflight_events",
      help: "Number of events currently tracked in the scheduling queue.",
      labels: ["event"],
    },
    () =>
      [...queue.inFlightEvents].map(([event, value]) => ({
        labels: [event === "PodPopped" ? event : eventLabel(event)],
        value,
      })),
  );
  metrics.gaugesOf(
    {
      name: "scheduler_cache_size",
      help: "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
      labels: ["type"],
    },
    () => [
      { labels: ["assumed_pods"], value: snapshot.assumedCount },
      { labels: ["nodes"], value: snapshot.nodes.length },
      { labels: ["pods"], value: snapshot.podCount },
    ],
  );
}
