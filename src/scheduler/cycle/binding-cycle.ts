/**
 * The binding cycle of a pod, beside the scheduling loop: waits for permit, prepares what the pod needs
 * (volumes, devices), binds it to its node and records that.
 */
import type { Clock } from "#lib/time/clock.ts";
import {
  type ExtensionPoint,
  type ProfileObserver,
  statusCodeOf,
  timed,
} from "#scheduler/metrics/extension-points.ts";
import type { SchedulerMetrics } from "#scheduler/metrics/scheduler-metrics.ts";
import type { Plugin, Rejected } from "#scheduler/plugin.ts";
import { FITS } from "#scheduler/plugin.ts";
import type { SchedulingQueue } from "#scheduler/queue/scheduling-queue.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { PermitOutcome } from "./permits.ts";
import { pluginError, runHook } from "./plugin-error.ts";
import type { PodStatusWriter } from "./pod-status-writer.ts";
import type { Profile } from "./profile.ts";
import { NodeRejected, type Reservation } from "./reservation.ts";
import type { SchedulerEvents } from "./scheduler-events.ts";

/** Binds pods in place of the bind plugins; undefined if it leaves the pod to them. */
export interface ExtenderBinder {
  bind(pod: PodInfo, node: NodeInfo, signal: AbortSignal): Promise<boolean>;
}

export interface BindingOptions {
  readonly queue: SchedulingQueue;
  readonly events: SchedulerEvents;
  readonly statuses: PodStatusWriter;
  readonly metrics: SchedulerMetrics;
  readonly extenders: ExtenderBinder | undefined;
  readonly clock: Clock;
}

export class BindingCycle {
  readonly #options: BindingOptions;
  readonly #preBinding = new Map<string, AbortController>();

  constructor(options: BindingOptions) {
    this.#options = options;
  }

  /** Ends the preparation of a pod. False if there is none. */
  cancel(uid: string, plugin: string): boolean {
    const preBinding = this.#preBinding.get(uid);
    preBinding?.abort(new Error(`preempted by ${plugin}`));
    return preBinding !== undefined;
  }

  /** Rejects with NodeRejected if a plugin does not let the pod have the node after all. */
  async bind(
    { queued, profile, node, states, startMs }: Reservation,
    permit: PermitOutcome,
    signal: AbortSignal,
  ): Promise<void> {
    const { queue, statuses, events, metrics, extenders, clock } = this.#options;
    const { info } = queued;
    const { observer } = profile;
    const prepared = timed(
      observer,
      "PreBindPreFlight",
      () =>
        profile.preBind.filter((plugin) =>
          runHook(
            `running PreBindPreFlight "${plugin.name}"`,
            () => plugin.hasPreBind?.(states.get(plugin), info, node) ?? true,
          ),
        ),
      (plugins) => (plugins.length > 0 ? "Success" : "Skip"),
    );
    if (prepared.length > 0 || permit.outcome === "waiting") {
      // Others can see where the pod goes while it is being prepared.
      statuses.write(info.pod, { nominatedNodeName: node.name });
    }
    if (permit.outcome === "waiting") {
      const sinceMs = clock.elapsedMs();
      const answer = await permit.answer;
      const result = answer.allowed ? "Success" : "Unschedulable";
      metrics.permitWaited(result, clock.elapsedMs() - sinceMs);
      if (!answer.allowed) throw new NodeRejected(answer.plugin, answer.verdict);
    }
    if (prepared.length > 0) {
      const preparing = this.#preBind(prepared, info, node, states, signal);
      await observed(observer, "PreBind", preparing);
    }
    statuses.drop(info.uid); // a bound pod has another status
    if (extenders === undefined || !(await extenders.bind(info, node, signal))) {
      await observed(observer, "Bind", runBindPlugins(profile, info, node, signal));
    }
    queue.done(info.uid);
    events.record({
      about: info.pod,
      type: "Normal",
      reason: "Scheduled",
      action: "Binding",
      message: `Successfully assigned ${info.key} to ${node.name}`,
      schedulerName: profile.schedulerName,
    });
    metrics.scheduled(profile.schedulerName, queued, clock.elapsedMs() - startMs, clock.nowMs());
    if (profile.postBind.length === 0) return;
    const postBinding = (): void => {
      for (const plugin of profile.postBind) plugin.postBind!(info, node);
    };
    timed(observer, "PostBind", postBinding, () => "Success");
  }

  async #preBind(
    plugins: readonly Plugin[],
    info: PodInfo,
    node: NodeInfo,
    states: ReadonlyMap<Plugin, unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    const own = new AbortController();
    this.#preBinding.set(info.uid, own);
    const both = AbortSignal.any([own.signal, signal]);
    try {
      for (const plugin of plugins) {
        const verdict = await plugin.preBind!(states.get(plugin), info, node, both).catch(
          (error: unknown) => {
            throw pluginError(`running PreBind plugin "${plugin.name}"`, error);
          },
        );
        if (verdict !== FITS) throw new NodeRejected(plugin.name, verdict as Rejected);
      }
      both.throwIfAborted();
    } finally {
      this.#preBinding.delete(info.uid);
    }
  }
}

/** Reports how long the plugins of an extension point took that is awaited. */
async function observed(
  observer: ProfileObserver,
  point: ExtensionPoint,
  work: Promise<void>,
): Promise<void> {
  const sinceMs = observer.nowMs();
  try {
    await work;
    observer.ended(point, "Success", sinceMs);
  } catch (error) {
    const code = error instanceof NodeRejected ? statusCodeOf(error.verdict) : "Error";
    observer.ended(point, code, sinceMs);
    throw error;
  }
}

async function runBindPlugins(
  { bind, schedulerName }: Profile,
  info: PodInfo,
  node: NodeInfo,
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of bind) {
    const verdict = await plugin.bind!(info, node, signal).catch((error: unknown) => {
      throw pluginError(`running Bind plugin "${plugin.name}"`, error);
    });
    if (verdict === undefined) continue;
    if (verdict !== FITS) throw new NodeRejected(plugin.name, verdict as Rejected);
    return;
  }
  throw new Error(`no plugin of the profile ${schedulerName} binds the pod`);
}
