/**
 * Pods that wait for a node.
 *
 * A pod is in one of these places: *active* (tried next, by priority and age), *back-off* (tried
 * when its time is over, or when nothing else waits), *unschedulable* (tried when a change makes it
 * worth while, or after five minutes), *gated* (kept out by a plugin until the pod changes), or in
 * flight (being tried now).
 *
 * Promises:
 * 1. No change is missed: what happens while a pod is in flight is judged when it comes back.
 * 2. A pod that is deleted or gets a node leaves the queue wherever it is.
 * 3. The changes remembered for pods in flight are bounded; beyond the bound a pod that comes back
 *    is simply tried again.
 */

import type { Clock, Timer } from "#lib/time/clock.ts";
import type { Profile } from "#scheduler/cycle/profile.ts";
import { statusCodeOf } from "#scheduler/metrics/extension-points.ts";
import type { QueueMetrics, QueueReason } from "#scheduler/metrics/queue-metrics.ts";
import { type EventName, FITS, type Rejected, type Verdict } from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { InFlightPods } from "./in-flight-pods.ts";
import { KeyedHeap } from "./keyed-heap.ts";
import { createQueuedPod, type QueuedPod } from "./queued-pod.ts";
import { UnschedulablePods } from "./unschedulable-pods.ts";
import { type ClusterChange, isWokenBy, wakes } from "./wake-decision.ts";

/** One of so many questions to wake rules is measured. */
const HINTS_PER_MEASURED = 10;

export interface QueueOptions {
  readonly clock: Clock;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly unschedulableMaxMs: number;
  /** Which pod is tried first; negative for `a`. */
  order(a: QueuedPod, b: QueuedPod): number;
  /** The profile of a scheduler name; a pod without one is not queued. */
  profileOf(schedulerName: string): Profile | undefined;
  readonly metrics: QueueMetrics;
  /** A `preEnqueue` plugin keeps the pod out. */
  onHeld(pod: PodInfo, plugin: string, reasons: readonly string[]): void;
  /** Called when there is a pod to try. */
  onReady(): void;
}

export interface QueueSizes {
  readonly active: number;
  readonly backoff: number;
  readonly unschedulable: number;
  readonly gated: number;
}

export interface RejectedPods {
  readonly plugin: string;
  readonly profile: string;
  readonly pods: number;
}

export class SchedulingQueue implements Disposable {
  readonly #options: QueueOptions;
  readonly #active: KeyedHeap<QueuedPod>;
  /** Rejected pods. They are tried early when nothing else waits. */
  readonly #backoff: KeyedHeap<QueuedPod>;
  /** Pods whose attempt failed by an error. They always wait. */
  readonly #errors: KeyedHeap<QueuedPod>;
  readonly #unschedulable = new UnschedulablePods();
  readonly #inFlight = new InFlightPods();
  #order = 0;
  #hints = 0;
  #timer: Timer | undefined;
  #flushTimer: Timer | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#active = new KeyedHeap((a, b) => options.order(a, b));
    const byEnd = (a: QueuedPod, b: QueuedPod): number =>
      this.#backoffEndMs(a) - this.#backoffEndMs(b) || a.order - b.order;
    this.#backoff = new KeyedHeap(byEnd);
    this.#errors = new KeyedHeap(byEnd);
  }

  get sizes(): QueueSizes {
    const gated = this.#unschedulable.gatedCount;
    return {
      active: this.#active.size,
      backoff: this.#backoff.size + this.#errors.size,
      unschedulable: this.#unschedulable.size - gated,
      gated,
    };
  }

  /** How many pods that wait each plugin has rejected, by the scheduler name of the pods. */
  get rejections(): readonly RejectedPods[] {
    const counts = new Map<string, { plugin: string; profile: string; pods: number }>();
    const queued = [this.#unschedulable, this.#backoff, this.#errors, this.#active];
    for (const { info, rejectors, gatedBy } of queued.flatMap((one) => [...one.values()])) {
      const profile = info.pod.spec.schedulerName ?? "";
      for (const plugin of gatedBy === undefined ? rejectors : [gatedBy]) {
        const key = `${plugin} ${profile}`;
        const known = counts.get(key) ?? { plugin, profile, pods: 0 };
        known.pods += 1;
        counts.set(key, known);
      }
    }
    return [...counts.values()];
  }

  /** How many changes are remembered for pods in flight, by their name, and how many such pods. */
  get inFlightEvents(): ReadonlyMap<EventName | "PodPopped", number> {
    return this.#inFlight.counts;
  }

  /** Whether `pop` would give a pod. */
  get isReady(): boolean {
    return this.#active.size > 0 || this.#backoff.size > 0;
  }

  add(info: PodInfo): void {
    if (this.#find(info.uid) !== undefined) this.update(info);
    else {
      const queued = createQueuedPod(info, this.#nowMs(), this.#order++);
      this.#admit(queued, "UnschedulablePodAdd");
    }
  }

  /** The pod changed. What the change is worth is judged by `change`, which follows. */
  update(info: PodInfo): void {
    const { uid } = info;
    const inFlight = this.#inFlight.get(uid);
    if (inFlight !== undefined) {
      inFlight.info = info;
      return;
    }
    const queued = this.#find(uid);
    if (queued === undefined) {
      this.add(info);
      return;
    }
    const isActive = this.#active.get(uid) !== undefined;
    queued.info = info;
    if (isActive)
      this.#active.set(uid, queued); // its priority may be another
    else if (queued.gatedBy !== undefined) {
      this.#unschedulable.delete(uid);
      this.#admit(queued, "UnschedulablePodUpdate");
    }
  }

  /** A change of the pod itself. */
  ownChange(uid: string, change: ClusterChange): void {
    this.#inFlight.remember(change);
    const queued = this.#unschedulable.get(uid);
    if (queued === undefined || queued.gatedBy !== undefined) return;
    if (this.#isWoken(queued, change)) this.#wake(queued, change.event);
  }

  delete(uid: string): void {
    this.#inFlight.end(uid);
    this.#active.delete(uid);
    this.#backoff.delete(uid);
    this.#errors.delete(uid);
    this.#unschedulable.delete(uid);
  }

  /** The next pod to try; it is in flight until `done` or `putBack`. */
  pop(): QueuedPod | undefined {
    const pod = this.#active.pop() ?? this.#popBackoff();
    if (pod === undefined) return undefined;
    pod.attempts += 1;
    pod.firstAttemptMs ??= this.#nowMs();
    this.#inFlight.begin(pod);
    return pod;
  }

  #popBackoff(): QueuedPod | undefined {
    const pod = this.#backoff.pop();
    if (pod !== undefined) this.#options.metrics.entered("active", "PopFromBackoffQ");
    return pod;
  }

  /** The attempt is over and the pod needs no other. */
  done(uid: string): void {
    this.#inFlight.end(uid);
  }

  /** The attempt failed. The pod waits for a change, unless one that helps came meanwhile. */
  putBack(pod: QueuedPod, rejectors: ReadonlySet<string>, failure: "rejected" | "error"): void {
    const { uid } = pod.info;
    if (this.#inFlight.get(uid) === undefined) return; // deleted meanwhile
    pod.rejectors = rejectors;
    pod.wasFlushed = false;
    pod.sinceMs = this.#nowMs();
    if (failure === "error") pod.errorCount += 1;
    else {
      pod.unschedulableCount += 1;
      pod.errorCount = 0;
    }
    const isWoken = this.#inFlight.wasWoken(uid, (change) => this.#isWoken(pod, change));
    this.done(uid);
    if (failure === "error" || isWoken) this.#wake(pod, "ScheduleAttemptFailure");
    else {
      this.#gateOf(pod); // its preemption may be running
      this.#hold(pod, "ScheduleAttemptFailure");
      this.#planFlush();
    }
  }

  /** Something in the cluster changed: wakes the pods for which it matters. */
  change(change: ClusterChange): void {
    this.#inFlight.remember(change);
    if (this.#unschedulable.size === 0) return;
    for (const pod of this.#unschedulable.concernedBy(change, this.#options.profileOf)) {
      if (pod.gatedBy !== undefined) this.#recheckGated(pod, change);
      else if (this.#isWoken(pod, change)) this.#wake(pod, change.event);
    }
  }

  /** The pod's preemption is over. If its victims are not gone, it waits for their deletion. */
  endPreemption(uid: string, areGone: boolean): void {
    const pod = this.#unschedulable.get(uid);
    if (pod?.gatedBy === undefined || this.#gateOf(pod) !== undefined) return;
    if (areGone) this.#wake(pod, "ForceActivate");
    else {
      this.#unschedulable.set(uid, pod);
      this.#planFlush();
    }
  }

  /** What kept the pod out of the queue may be over. */
  #recheck(uid: string, event: EventName): void {
    const pod = this.#unschedulable.get(uid);
    if (pod?.gatedBy === undefined) return;
    this.#unschedulable.delete(uid);
    this.#admit(pod, event);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#flushTimer?.cancel();
  }

  /** The plugin that keeps the pod out may let it in after this change. */
  #recheckGated(pod: QueuedPod, change: ClusterChange): void {
    const profile = this.#profileOf(pod);
    if (profile === undefined || pod.gatedBy === undefined) return;
    if (!wakes(pod.gatedBy, profile, pod, change, this.#hintObserver())) return;
    this.#recheck(pod.info.uid, change.event);
  }

  #admit(pod: QueuedPod, event: EventName | QueueReason): void {
    if (this.#gateOf(pod) === undefined) this.#activate(pod, event);
    else this.#hold(pod, event);
  }

  #activate(pod: QueuedPod, event: EventName | QueueReason): void {
    this.#active.set(pod.info.uid, pod);
    this.#options.metrics.entered("active", event);
    this.#options.onReady();
  }

  #hold(pod: QueuedPod, event: EventName | QueueReason): void {
    this.#unschedulable.set(pod.info.uid, pod);
    this.#options.metrics.entered("unschedulable", event);
  }

  /** Sets and returns the name of the plugin that keeps the pod out. */
  #gateOf(pod: QueuedPod): string | undefined {
    pod.gatedBy = undefined;
    const { preEnqueue = [], observer } = this.#profileOf(pod) ?? {};
    const sinceMs = observer?.nowMs() ?? 0;
    let verdict: Verdict = FITS;
    for (const plugin of preEnqueue) {
      verdict = plugin.preEnqueue!(pod.info);
      if (verdict === FITS) continue;
      pod.gatedBy = plugin.name;
      this.#options.onHeld(pod.info, plugin.name, (verdict as Rejected).reasons);
      break;
    }
    observer?.ended("PreEnqueue", statusCodeOf(verdict), sinceMs);
    return pod.gatedBy;
  }

  #wake(pod: QueuedPod, event: EventName | QueueReason): void {
    const { uid } = pod.info;
    this.#unschedulable.delete(uid);
    if (this.#gateOf(pod) !== undefined) {
      this.#hold(pod, event);
    } else if (this.#backoffEndMs(pod) > this.#nowMs()) {
      (pod.errorCount > 0 ? this.#errors : this.#backoff).set(uid, pod);
      this.#options.metrics.entered("backoff", event);
      this.#planBackoff();
      this.#options.onReady();
    } else {
      this.#activate(pod, event);
    }
  }

  #isWoken(pod: QueuedPod, change: ClusterChange): boolean {
    const profile = this.#profileOf(pod);
    return profile === undefined || isWokenBy(pod, profile, change, this.#hintObserver());
  }

  #hintObserver(): QueueMetrics | undefined {
    this.#hints = (this.#hints + 1) % HINTS_PER_MEASURED;
    return this.#hints === 0 ? this.#options.metrics : undefined;
  }

  #find(uid: string): QueuedPod | undefined {
    return (
      this.#active.get(uid) ??
      this.#backoff.get(uid) ??
      this.#errors.get(uid) ??
      this.#unschedulable.get(uid) ??
      this.#inFlight.get(uid)
    );
  }

  #backoffEndMs({ sinceMs, unschedulableCount, errorCount }: QueuedPod): number {
    const { initialBackoffMs, maxBackoffMs } = this.#options;
    const count = errorCount > 0 ? errorCount : unschedulableCount;
    if (count === 0) return sinceMs;
    return sinceMs + Math.min(maxBackoffMs, initialBackoffMs * 2 ** Math.min(count - 1, 30));
  }

  #planBackoff(): void {
    const ends = [this.#backoff, this.#errors].flatMap((heap) => {
      const first = heap.peek();
      return first === undefined ? [] : [this.#backoffEndMs(first)];
    });
    this.#timer?.cancel();
    this.#timer = undefined;
    if (ends.length === 0) return;
    const waitMs = Math.max(0, Math.min(...ends) - this.#nowMs());
    this.#timer = this.#options.clock.schedule(waitMs, () => this.#endBackoffs());
  }

  #endBackoffs(): void {
    for (const heap of [this.#backoff, this.#errors]) {
      for (;;) {
        const first = heap.peek();
        if (first === undefined || this.#backoffEndMs(first) > this.#nowMs()) break;
        heap.pop();
        this.#admit(first, "BackoffComplete");
      }
    }
    this.#planBackoff();
  }

  #planFlush(): void {
    if (this.#flushTimer !== undefined) return;
    const { clock, unschedulableMaxMs } = this.#options;
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const { sinceMs, gatedBy } of this.#unschedulable.values()) {
      if (gatedBy === undefined) oldestMs = Math.min(oldestMs, sinceMs);
    }
    if (oldestMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.max(0, oldestMs + unschedulableMaxMs - this.#nowMs());
    this.#flushTimer = clock.schedule(waitMs, () => {
      this.#flushTimer = undefined;
      const limitMs = this.#nowMs() - unschedulableMaxMs;
      for (const pod of [...this.#unschedulable.values()]) {
        if (pod.gatedBy !== undefined || pod.sinceMs > limitMs) continue;
        pod.wasFlushed = true;
        this.#wake(pod, "UnschedulableTimeout");
      }
      this.#planFlush();
    });
  }

  #profileOf({ info }: QueuedPod): Profile | undefined {
    return this.#options.profileOf(info.pod.spec.schedulerName ?? "");
  }

  #nowMs(): number {
    return this.#options.clock.nowMs();
  }
}
