/**
 * Carries a preemption out: marks the victims, deletes them, and takes nominations to the node away
 * from less important pods. It runs beside the scheduling loop.
 *
 * Promises:
 * 1. While it works for a pod, `isRunning` is true and the pod is not tried again.
 * 2. `onEnd` is called when it is over, whether it succeeded or not.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { ReadCache } from "#client/cache.ts";
import type { Client } from "#client/client.ts";
import type { ConcurrencyLimit } from "#lib/async/concurrency-limit.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { SchedulerEvents } from "#scheduler/cycle/scheduler-events.ts";
import type { SchedulerMetrics } from "#scheduler/metrics/scheduler-metrics.ts";
import type { Preemptions, PreemptionTask } from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";

const LOOKS_MAX = 200;
const LOOK_EVERY_MS = 5;

export interface ExecutorOptions {
  readonly pods: ReadCache<Pod>;
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: SchedulerEvents;
  /** Writes about victims run within it. */
  readonly calls: ConcurrencyLimit;
  readonly metrics: Pick<SchedulerMetrics, "preemptionVictims" | "preempted">;
  /** Takes a pod that waits for permission or is about to be bound back; false if it is too late. */
  cancelWaiting(uid: string): boolean;
  clearNomination(pod: PodInfo): void;
  /** With whether the victims are gone already; if not, their deletion follows. */
  onEnd(uid: string, areGone: boolean): void;
  readonly signal: AbortSignal;
}

export class PreemptionExecutor implements Preemptions {
  readonly #options: ExecutorOptions;
  readonly #running = new Set<string>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  isRunning(uid: string): boolean {
    return this.#running.has(uid);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  start(task: PreemptionTask): void {
    const { pod } = task;
    if (task.victims.every(({ isTerminating }) => isTerminating)) return;
    this.#options.metrics.preemptionVictims.observe(task.victims.length);
    this.#running.add(pod.uid);
    const { clock, metrics } = this.#options;
    const sinceMs = clock.elapsedMs();
    void this.#run(task)
      .then(() => metrics.preempted(true, clock.elapsedMs() - sinceMs))
      .catch((error: unknown) => {
        if (this.#options.signal.aborted) return;
        metrics.preempted(false, clock.elapsedMs() - sinceMs);
        this.#options.logger.error("preemption failed", { pod: pod.key, error });
      })
      .finally(() => {
        this.#running.delete(pod.uid);
        this.#options.onEnd(
          pod.uid,
          task.victims.every((victim) => this.#isGone(victim)),
        );
      });
  }

  async #run({ pod, node, victims, displaced }: PreemptionTask): Promise<void> {
    for (const other of displaced) this.#options.clearNomination(other);
    const remaining = victims.filter(({ isTerminating }) => !isTerminating);
    const { calls } = this.#options;
    await Promise.all(remaining.map((victim) => calls.run(() => this.#preempt(pod, victim, node))));
    await this.#untilSeen(remaining);
  }

  /** The pod must not be tried again before the cache shows that its victims go. */
  async #untilSeen(victims: readonly PodInfo[]): Promise<void> {
    const { clock, pods, signal } = this.#options;
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      const isSeen = victims.every(({ namespace, name, uid }) => {
        const cached = pods.get(namespace, name);
        if (cached?.metadata.uid !== uid) return true;
        return (
          cached.metadata.deletionTimestamp !== undefined || (cached.spec.nodeName ?? "") === ""
        );
      });
      if (isSeen) return;
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }

  #isGone({ namespace, name, uid }: PodInfo): boolean {
    return this.#options.pods.get(namespace, name)?.metadata.uid !== uid;
  }

  async #preempt(pod: PodInfo, victim: PodInfo, node: string): Promise<void> {
    const { client, events, signal } = this.#options;
    const { uid, key } = pod;
    let text = `Preempted by pod ${uid} on node ${node}`;
    if (this.#options.cancelWaiting(victim.uid)) text += " (in kube-scheduler memory).";
    else {
      const where = { namespace: victim.namespace, name: victim.name };
      const patch = { status: { conditions: [this.#condition(pod, victim.pod)] } };
      const marked = await client.patch(
        podKind,
        where,
        "strategic",
        patch,
        { subresource: "status" },
        signal,
      );
      if (!marked.ok) {
        if (marked.status.reason === "NotFound") return;
        throw new Error(marked.status.message);
      }
      const deleted = await client.delete(podKind, where, { uid: victim.uid }, signal);
      if (!deleted.ok) {
        const { reason, message } = deleted.status;
        if (reason === "NotFound" || reason === "Conflict") return;
        throw new Error(message);
      }
    }
    this.#options.logger.debug("preempted a pod", { victim: victim.key, pod: key, node });
    events.record({
      about: victim.pod,
      related: pod.pod,
      type: "Normal",
      reason: "Preempted",
      action: "Preempting",
      message: text,
      schedulerName: pod.pod.spec.schedulerName ?? "",
    });
  }

  #condition({ pod: preemptor }: PodInfo, victim: Pod): unknown {
    const { generation } = victim.metadata;
    return {
      type: "DisruptionTarget",
      status: "True",
      reason: "PreemptionByScheduler",
      message: `${preemptor.spec.schedulerName}: preempting to accommodate a higher priority pod`,
      lastTransitionTime: timeFromMs(this.#options.clock.nowMs()),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
  }
}
