/**
 * Puts a scheduler together and runs it: informers, snapshot, queue, plugins, loop.
 *
 *     await runSchedulerLoop({ client, clock, random, logger, metrics, config }, signal);
 */
import type { Client } from "#client/client.ts";
import { signalForMany, untilAborted } from "#lib/async/aborted.ts";
import { ConcurrencyLimit } from "#lib/async/concurrency-limit.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { profileFrom } from "./config/create-profile.ts";
import type { SchedulerConfig } from "./config/scheduler-config.ts";
import { connectFeeds } from "./cycle/cluster-feeds.ts";
import type { Decision } from "./cycle/decide-node.ts";
import { httpExtenders } from "./cycle/http-extenders.ts";
import { createInformers, objectsOf } from "./cycle/informers.ts";
import { PodStatusWriter } from "./cycle/pod-status-writer.ts";
import type { Profile } from "./cycle/profile.ts";
import { ReusableResults } from "./cycle/reusable-results.ts";
import { Scheduler } from "./cycle/scheduler.ts";
import { SchedulerEvents } from "./cycle/scheduler-events.ts";
import { DecisionRecords } from "./explain/decision-records.ts";
import { registerExtensionPoints } from "./metrics/extension-points.ts";
import { measuredProfile } from "./metrics/measured-profile.ts";
import { podResourceMetrics } from "./metrics/pod-resource-metrics.ts";
import { registerQueueMetrics } from "./metrics/queue-metrics.ts";
import { registerSchedulerMetrics } from "./metrics/scheduler-metrics.ts";
import type { Handle, PluginFactory } from "./plugin.ts";
import { byPriority } from "./plugins/priority-sort.ts";
import { builtInPlugins } from "./plugins/registry.ts";
import { PreemptionExecutor } from "./preemption/preemption-executor.ts";
import { Nominator } from "./queue/nominator.ts";
import { SchedulingQueue } from "./queue/scheduling-queue.ts";
import type { PodInfo } from "./snapshot/pod-info.ts";
import { Snapshot } from "./snapshot/snapshot.ts";

const UNSCHEDULABLE_MAX_MS = 5 * 60_000;
/** Writes of pod statuses and about victims that are under way at a time. */
const CALLS_MAX = 32;

export interface SchedulerParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly config: SchedulerConfig;
  /** Part of the name under which events are reported. */
  readonly hostname: string;
  /** Beside the built-in ones; one with the same name replaces the built-in. */
  readonly plugins?: readonly PluginFactory[];
  /** Called with every decision; it must not throw. */
  onDecision?(pod: PodInfo, decision: Decision): void;
}

export interface RunningScheduler {
  readonly records: DecisionRecords;
  /** Resolves when the caches are filled and scheduling begins. */
  readonly synced: Promise<void>;
  readonly isSynced: boolean;
  /** Whether anything is being decided, bound or written. */
  readonly isBusy: boolean;
  /** Requests and limits of pods, in Prometheus' text format. */
  podResourceMetrics(): string;
  /** Resolves when everything has ended after the signal aborted. */
  readonly done: Promise<void>;
}

export function startScheduler(parts: SchedulerParts, outer: AbortSignal): RunningScheduler {
  const signal = signalForMany(outer); // every informer listens
  const { client, clock, random, logger, config } = parts;
  const informers = createInformers({ client, clock, random, logger });
  const objects = objectsOf(informers);
  const snapshot = new Snapshot();
  const nominator = new Nominator();
  const records = new DecisionRecords(clock);
  const events = new SchedulerEvents({ client, clock, logger, hostname: parts.hostname });
  const calls = new ConcurrencyLimit(CALLS_MAX);
  const statuses = new PodStatusWriter({ client, clock, logger, calls, signal });
  const profiles = new Map<string, Profile>();
  const queue = new SchedulingQueue({
    clock,
    initialBackoffMs: config.podInitialBackoffSeconds * 1000,
    maxBackoffMs: config.podMaxBackoffSeconds * 1000,
    unschedulableMaxMs: config.unschedulableMaxMs ?? UNSCHEDULABLE_MAX_MS,
    order: (a, b) => order(a, b),
    profileOf: (schedulerName) => profiles.get(schedulerName),
    metrics: registerQueueMetrics(parts.metrics, clock),
    onHeld: (pod, plugin, reasons) => records.hold(pod, plugin, reasons),
    onReady: () => scheduler.wake(),
  });
  const metrics = registerSchedulerMetrics(parts.metrics, { queue, snapshot });
  const preemptions = new PreemptionExecutor({
    ...{ client, clock, logger, events, calls, signal, metrics, pods: objects.pods },
    cancelWaiting: (uid) => scheduler.cancelWaiting(uid, "DefaultPreemption"),
    clearNomination: (pod) => {
      nominator.delete(pod.uid);
      statuses.write(pod.pod, { nominatedNodeName: "" });
    },
    onEnd: (uid, areGone) => queue.endPreemption(uid, areGone),
  });
  const handle: Handle = {
    snapshot,
    objects,
    nominated: nominator,
    preemptions,
    waitingPods: {
      allow: (uid, plugin) => scheduler.permits.allow(uid, plugin),
      reject: (uid, plugin, reason) => scheduler.permits.reject(uid, plugin, reason),
    },
    deviceMetrics: metrics,
    volumeMetrics: metrics,
    client,
    clock,
    random,
    recordEvent: (event) => events.record(event),
  };
  const all = [...builtInPlugins(), ...(parts.plugins ?? [])];
  const factories = new Map(all.map((factory) => [factory.name, factory]));
  const measuredProfiles = new Map<string, Profile>();
  const observerOf = registerExtensionPoints(parts.metrics, clock);
  for (const one of config.profiles) {
    const { schedulerName } = one;
    const observer = observerOf(schedulerName);
    const profile = { ...profileFrom(one, factories, handle), observer };
    profiles.set(schedulerName, profile);
    measuredProfiles.set(schedulerName, measuredProfile(profile, observer));
  }
  const [first] = profiles.values();
  const order = first?.queueSort?.queueSort?.bind(first.queueSort) ?? byPriority;
  const reusable = new ReusableResults();
  // Whether an extended resource is the concern of NodeResourcesFit depends on device classes.
  informers.deviceClasses.on(() => reusable.clear(), signal);
  const scheduler = new Scheduler({
    ...{
      profiles,
      measuredProfiles,
      queue,
      nominator,
      objects,
      events,
      statuses,
      records,
      metrics,
      clock,
      logger,
    },
    world: {
      ...{ snapshot, nominated: nominator, random, cursor: { next: 0 } },
      reusable,
      percentageOfNodesToScore: config.percentageOfNodesToScore,
    },
    onDecision: parts.onDecision,
    extenders: config.extenders.length === 0 ? undefined : httpExtenders(config.extenders),
  });
  connectFeeds(
    {
      ...{ informers, snapshot, queue, nominator },
      isOurs: ({ spec }) => profiles.has(spec.schedulerName ?? ""),
      nowMs: () => clock.elapsedMs(),
      handled: (event, sinceMs) => metrics.eventHandled(event, clock.elapsedMs() - sinceMs),
      cancelAssumed: (uid) => void scheduler.cancelWaiting(uid, "the deletion of the pod"),
    },
    signal,
  );
  const watching = Object.values(informers).map((informer) => informer.run(signal));
  const synced = Promise.all(Object.values(informers).map((informer) => informer.synced));
  let isSynced = false;
  const deciding = synced.then(async () => {
    isSynced = true;
    await scheduler.run(signal);
  });
  const writing = events.run(signal);
  return {
    records,
    podResourceMetrics: () => podResourceMetrics(objects.pods.list()),
    synced: synced.then(() => undefined),
    get isSynced() {
      return isSynced;
    },
    get isBusy() {
      return !isSynced || scheduler.isBusy || preemptions.runningCount > 0;
    },
    done: untilAborted(signal).then(async () => {
      queue[Symbol.dispose]();
      await Promise.all([...watching, writing, ...(isSynced ? [deciding] : [])]);
    }),
  };
}
