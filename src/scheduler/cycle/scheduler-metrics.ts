/** The scheduler's metrics, under upstream's names. */
import type { Bind, Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { QueuedPod } from "#scheduler/queue/queued-pod.ts";
import type { SchedulingQueue } from "#scheduler/queue/scheduling-queue.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";

const ATTEMPTS_LABEL_MAX = 15;

export interface SchedulerMetrics {
  readonly algorithmDuration: Histogram;
  readonly preemptionAttempts: Counter;
  readonly preemptionVictims: Histogram;
  scheduled(profile: string, pod: QueuedPod, durationMs: number, nowMs: number): void;
  failed(profile: string, isError: boolean, durationMs: number): void;
}

export function registerSchedulerMetrics(
  metrics: Metrics,
  { queue, snapshot }: { readonly queue: SchedulingQueue; readonly snapshot: Snapshot },
): SchedulerMetrics {
  const attempts = metrics.counter({
    name: "scheduler_schedule_attempts_total",
    help: "Number of attempts to schedule pods, by the result.",
    labels: ["result", "profile"],
  });
  const duration = metrics.histogram({
    name: "scheduler_scheduling_attempt_duration_seconds",
    help: "Scheduling attempt latency in seconds (scheduling algorithm + binding).",
    labels: ["result", "profile"],
    buckets: exponential(0.001, 2, 15),
  });
  const sli = metrics.histogram({
    name: "scheduler_pod_scheduling_sli_duration_seconds",
    help: "E2e latency for a pod being scheduled, from the time it entered the queue.",
    labels: ["attempts"],
    buckets: exponential(0.01, 2, 20),
  });
  const podAttempts = metrics.histogram({
    name: "scheduler_pod_scheduling_attempts",
    help: "Number of attempts to successfully schedule a pod.",
    buckets: exponential(1, 2, 5),
  })();
  registerGauges(metrics, queue, snapshot);
  return {
    algorithmDuration: metrics.histogram({
      name: "scheduler_scheduling_algorithm_duration_seconds",
      help: "Scheduling algorithm latency in seconds.",
      buckets: exponential(0.001, 2, 15),
    })(),
    preemptionAttempts: metrics.counter({
      name: "scheduler_preemption_attempts_total",
      help: "Total preemption attempts in the cluster till now.",
    })(),
    preemptionVictims: metrics.histogram({
      name: "scheduler_preemption_victims",
      help: "Number of selected preemption victims.",
      buckets: exponential(1, 2, 7),
    })(),
    scheduled: (profile, pod, durationMs, nowMs) => {
      observe(attempts, duration, "scheduled", profile, durationMs);
      podAttempts.observe(pod.attempts);
      const label = pod.attempts >= ATTEMPTS_LABEL_MAX ? "15+" : String(pod.attempts);
      sli(label).observe((nowMs - (pod.firstAttemptMs ?? nowMs)) / 1000);
    },
    failed: (profile, isError, durationMs) =>
      observe(attempts, duration, isError ? "error" : "unschedulable", profile, durationMs),
  };
}

function observe(
  attempts: Bind<Counter>,
  duration: Bind<Histogram>,
  result: string,
  profile: string,
  durationMs: number,
): void {
  attempts(result, profile).add(1);
  duration(result, profile).observe(durationMs / 1000);
}

function registerGauges(metrics: Metrics, queue: SchedulingQueue, snapshot: Snapshot): void {
  metrics.gaugesOf(
    {
      name: "scheduler_pending_pods",
      help: "Number of pending pods, by the queue type.",
      labels: ["queue"],
    },
    () => Object.entries(queue.sizes).map(([name, value]) => ({ labels: [name], value })),
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

function exponential(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}
