/**
 * Runs the scheduler over a client: alone by `k8ts scheduler`, or beside the API server in `k8ts up`.
 *
 *     const scheduler = runScheduler({ client, clock, random, logger, metrics, hostname }, signal);
 *     await scheduler.ready;
 */
import { Metrics } from "#lib/metrics.ts";
import { DEFAULT_CONFIG, type SchedulerConfig } from "#scheduler/config/scheduler-config.ts";
import { type SchedulerParts, startScheduler } from "#scheduler/create-scheduler.ts";
import type { DecisionRecords } from "#scheduler/explain/decision-records.ts";

export type RunSchedulerOptions = Omit<SchedulerParts, "config"> & {
  /** Upstream's defaults unless given. */
  readonly config?: SchedulerConfig;
};

export interface RunningSchedulerProcess {
  /** Resolves when its caches are filled and it schedules. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended, after the signal aborted. */
  readonly done: Promise<void>;
  /** Whether its caches are filled. */
  isReady(): boolean;
  /** Whether anything is being decided, bound or written. */
  isBusy(): boolean;
  /** Requests and limits of pods, in Prometheus' text format. */
  podResourceMetrics(): string;
  /** Why pods run where they run, or do not run. */
  readonly records: DecisionRecords;
}

export function runScheduler(
  options: RunSchedulerOptions,
  signal: AbortSignal,
): RunningSchedulerProcess {
  // One that runs again, in another term as the leader, begins to count again.
  const metrics = new Metrics();
  const shown = options.metrics.include(metrics);
  const scheduler = startScheduler(
    { ...options, metrics, config: options.config ?? DEFAULT_CONFIG },
    signal,
  );
  return {
    ready: scheduler.synced,
    done: scheduler.done.finally(() => shown[Symbol.dispose]()),
    isReady: () => scheduler.isSynced,
    isBusy: () => scheduler.isBusy,
    podResourceMetrics: () => scheduler.podResourceMetrics(),
    records: scheduler.records,
  };
}
