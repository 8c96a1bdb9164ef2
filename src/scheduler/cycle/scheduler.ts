/**
 * The scheduling loop: takes pods from the queue one after another, decides, and binds beside the
 * loop. A decision and the assumption that follows it do not await, so no two pods are given the
 * same room.
 *
 * Promises:
 * 1. The loop gives the event loop back after a few milliseconds of work.
 * 2. At most `BINDINGS_MAX` pods are being bound at a time.
 * 3. Whatever goes wrong with one pod, the pod is tried again and the others go on.
 */

import { nextTurn } from "#lib/async/next-turn.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { DecisionRecords } from "#scheduler/explain/decision-records.ts";
import { type StatusCode, statusCodeOf, timed } from "#scheduler/metrics/extension-points.ts";
import type { SchedulerMetrics } from "#scheduler/metrics/scheduler-metrics.ts";
import type { Nominator } from "#scheduler/queue/nominator.ts";
import type { QueuedPod } from "#scheduler/queue/queued-pod.ts";
import type { SchedulingQueue } from "#scheduler/queue/scheduling-queue.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { BindingCycle, type ExtenderBinder } from "./binding-cycle.ts";
import {
  type Decision,
  decideNode,
  decideNodeWithExtenders,
  type Extenders,
  type World,
} from "./decide-node.ts";
import { type PermitOutcome, Permits } from "./permits.ts";
import type { PodStatusWriter } from "./pod-status-writer.ts";
import type { Profile } from "./profile.ts";
import {
  NodeRejected,
  type Refusal,
  type Reservation,
  runReservePlugins,
  runUnreservePlugins,
} from "./reservation.ts";
import type { SchedulerEvents } from "./scheduler-events.ts";
import { errorFailure, type Failure, nodeFailure, putBackFailed } from "./scheduling-failure.ts";

const SLICE_MS = 3;
const SLICE_PODS_MAX = 200;
const BINDINGS_MAX = 256;
/** In how many of a hundred attempts the durations of single plugins are measured. */
const MEASURED_PERCENT = 10;

export interface SchedulerOptions {
  readonly profiles: ReadonlyMap<string, Profile>;
  /** The same with plugins that report how long their hooks took. */
  readonly measuredProfiles: ReadonlyMap<string, Profile>;
  readonly world: World;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly objects: Pick<ClusterObjects, "pods">;
  readonly events: SchedulerEvents;
  readonly statuses: PodStatusWriter;
  readonly records: DecisionRecords;
  readonly metrics: SchedulerMetrics;
  readonly extenders: (Extenders & ExtenderBinder) | undefined;
  readonly onDecision: ((pod: PodInfo, decision: Decision) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Scheduler {
  readonly permits: Permits;
  readonly #options: SchedulerOptions;
  readonly #binding: BindingCycle;
  #bindings = 0;
  #wakeLoop: (() => void) | undefined;
  #isBusy = false;
  /** When the loop gives the event loop back. */
  #sliceEndMs = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.permits = new Permits(options.clock);
    this.#binding = new BindingCycle(options);
  }

  /** Whether anything is being decided, bound or written. */
  get isBusy(): boolean {
    const { queue, statuses, events } = this.#options;
    return (
      this.#isBusy || this.#bindings > 0 || queue.isReady || statuses.pending + events.pending > 0
    );
  }

  /** There may be a pod to schedule. */
  wake(): void {
    this.#wakeLoop?.();
  }

  /** Ends the wait or the preparation of a pod that is not bound yet. False if it is too late. */
  cancelWaiting(uid: string, plugin: string): boolean {
    if (this.permits.reject(uid, plugin, "preempted")) return true;
    return this.#binding.cancel(uid, plugin);
  }

  /** Lives until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { queue, clock } = this.#options;
    while (!signal.aborted) {
      if (!queue.isReady || this.#bindings >= BINDINGS_MAX) {
        this.#isBusy = false;
        await this.#untilWoken(signal);
        continue;
      }
      this.#isBusy = true;
      this.#sliceEndMs = clock.elapsedMs() + SLICE_MS;
      for (let pods = 0; pods < SLICE_PODS_MAX && clock.elapsedMs() < this.#sliceEndMs; pods++) {
        if (this.#bindings >= BINDINGS_MAX) break;
        const queued = queue.pop();
        if (queued === undefined) break;
        const attempt = this.#attempt(queued, signal);
        if (attempt !== undefined) await attempt;
      }
      await nextTurn();
    }
  }

  #untilWoken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakeLoop = undefined;
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#wakeLoop = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  /** Between the steps of a decision: a pause once the slice is over. */
  #pause(): Promise<void> | undefined {
    const { clock } = this.#options;
    if (clock.elapsedMs() < this.#sliceEndMs) return undefined;
    return nextTurn().then(() => {
      this.#sliceEndMs = clock.elapsedMs() + SLICE_MS;
    });
  }

  /** One attempt at one pod. A promise only for extenders and for a preemption that takes long. */
  #attempt(queued: QueuedPod, signal: AbortSignal): Promise<void> | undefined {
    const { clock, world, extenders, queue } = this.#options;
    const { info } = queued;
    const startMs = clock.elapsedMs();
    const profile = this.#profileFor(info);
    if (profile === undefined || this.#isSkipped(info)) {
      queue.done(info.uid);
      return undefined;
    }
    const conclude = (decision: Decision): void =>
      this.#conclude(queued, profile, decision, startMs, signal);
    const failed = (error: unknown): void => {
      if (!signal.aborted) this.#fail(queued, profile, errorFailure(error), startMs);
    };
    const pause = (): Promise<void> | undefined => this.#pause();
    try {
      const decision =
        extenders === undefined
          ? decideNode(profile, info, world, pause)
          : decideNodeWithExtenders(profile, info, world, extenders, pause);
      if (decision instanceof Promise) return decision.then(conclude).catch(failed);
      conclude(decision);
    } catch (error) {
      failed(error);
    }
    return undefined;
  }

  #profileFor({ pod }: PodInfo): Profile | undefined {
    const { profiles, measuredProfiles, world } = this.#options;
    const isMeasured = world.random.integer(100) < MEASURED_PERCENT;
    return (isMeasured ? measuredProfiles : profiles).get(pod.spec.schedulerName ?? "");
  }

  #isSkipped({ pod, uid, key }: PodInfo): boolean {
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#options.events.record({
        about: pod,
        type: "Warning",
        reason: "FailedScheduling",
        action: "Scheduling",
        message: `skip schedule deleting pod: ${key}`,
        schedulerName: pod.spec.schedulerName ?? "",
      });
      return true;
    }
    return this.#options.world.snapshot.isAssumed(uid);
  }

  #conclude(
    queued: QueuedPod,
    profile: Profile,
    decision: Decision,
    startMs: number,
    signal: AbortSignal,
  ): void {
    const { records, metrics, clock } = this.#options;
    metrics.algorithmDuration.observe((clock.elapsedMs() - startMs) / 1000);
    records.add(queued, decision);
    this.#options.onDecision?.(queued.info, decision);
    if (decision.outcome === "none") {
      const { message, diagnosis, nomination } = decision;
      if (profile.postFilter.length > 0) metrics.preemptionAttempts.add(1);
      const failure: Failure = {
        message,
        reason: "Unschedulable",
        rejectors: diagnosis.plugins,
        nominatedNode: nomination?.nominatedNode,
      };
      this.#fail(queued, profile, failure, startMs);
      return;
    }
    const { node, states } = decision;
    this.#reserve({ queued, profile, node, states, startMs }, signal);
  }

  #reserve(reservation: Reservation, signal: AbortSignal): void {
    const { queued, profile, node } = reservation;
    const { world, nominator } = this.#options;
    const { info } = queued;
    world.snapshot.assumePod(info, node.name);
    nominator.delete(info.uid);
    const refusal = runReservePlugins(reservation);
    if (refusal !== undefined) {
      this.#refuse(reservation, refusal);
      return;
    }
    const permit = timed(
      profile.observer,
      "Permit",
      () => this.permits.ask(profile.permit, info, node),
      permitCode,
    );
    if (permit.outcome === "rejected") {
      this.#refuse(reservation, permit);
      return;
    }
    this.#bindings += 1;
    this.#options.metrics.binding.add(1);
    void this.#binding
      .bind(reservation, permit, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.#bindingFailed(reservation, error);
      })
      .finally(() => {
        this.#bindings -= 1;
        this.#options.metrics.binding.add(-1);
        this.wake();
      });
  }

  /** A plugin does not let the pod have the node after all. */
  #refuse(reservation: Reservation, { plugin, verdict }: Refusal): void {
    const { queued, profile, node, startMs } = reservation;
    this.#takeBack(reservation);
    const failure = nodeFailure(node, plugin, verdict);
    this.#options.records.fail(queued.info, failure.message);
    this.#fail(queued, profile, failure, startMs);
  }

  #bindingFailed(reservation: Reservation, error: unknown): void {
    const { queued, profile, node, startMs } = reservation;
    const { queue } = this.#options;
    this.#takeBack(reservation);
    const failure =
      error instanceof NodeRejected
        ? nodeFailure(node, error.plugin, error.verdict)
        : { ...errorFailure(error), nominatedNode: "" };
    this.#options.records.fail(queued.info, failure.message);
    this.#fail(queued, profile, failure, startMs);
    // The room that the pod held is free again.
    queue.change({ event: "pod-deleted", next: assignedTo(queued.info, node), old: undefined });
  }

  #fail(queued: QueuedPod, profile: Profile, failure: Failure, startMs: number): void {
    putBackFailed(this.#options, queued, profile.schedulerName, failure, startMs);
  }

  #takeBack(reservation: Reservation): void {
    runUnreservePlugins(reservation);
    this.#options.world.snapshot.forgetPod(reservation.queued.info.uid);
  }
}

function permitCode(permit: PermitOutcome): StatusCode {
  if (permit.outcome === "rejected") return statusCodeOf(permit.verdict);
  return permit.outcome === "waiting" ? "Wait" : "Success";
}

function assignedTo({ pod }: PodInfo, { name }: NodeInfo): PodInfo["pod"] {
  return { ...pod, spec: { ...pod.spec, nodeName: name } };
}
