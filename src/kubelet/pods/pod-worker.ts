/**
 * One worker per pod: it looks at the pod, at what the runtime has of it and at the time, decides,
 * and carries the decision out, one step at a time.
 *
 * Promises:
 * 1. Steps of one pod never overlap; whatever changes meanwhile wakes the worker once more.
 * 2. A pod that is deleted, evicted, too old or done is ended: containers first (with their grace),
 *    then the sandbox, volumes and cgroup; its object is deleted only after all of that.
 * 3. A shorter grace period takes effect at once; a longer one never does.
 * 4. Failing steps are tried again with a growing pause.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import type { WaitingReason } from "#kubelet/decide/container-statuses.ts";
import type { BackoffEntry } from "#kubelet/decide/crash-backoff.ts";
import { isAlive, type PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import { decidePodStatus } from "#kubelet/decide/pod-status.ts";
import type { CountedPod } from "#kubelet/node/pod-counts.ts";
import { objectRefs } from "#kubelet/objects/object-refs.ts";
import { PodResize } from "#kubelet/resize/pod-resize.ts";
import { ContainerCpusets } from "#kubelet/resources/container-cpusets.ts";
import { findPodRuns, readPodRuntime, statesOf } from "#kubelet/runtime/read-pod-runtime.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import type { Timer } from "#lib/time/clock.ts";
import type { PodServices } from "./pod-services.ts";
import { removePod } from "./remove-pod.ts";
import { RunEnds } from "./run-ends.ts";
import { runPod } from "./run-pod.ts";
import { StepError } from "./step-error.ts";
import { StopPod } from "./stop-pod.ts";

export interface WorkerOptions {
  readonly services: PodServices;
  readonly isStatic: boolean;
  /** Only the container runtime knew of the pod. */
  readonly isRuntimeOnly?: boolean;
  /** Nothing of the pod is left and the source does not have it any more. */
  onGone(uid: string): void;
}

/** Why the kubelet ends a pod that was not deleted: eviction, deadline, shutdown. */
export interface PodEnd {
  readonly reason: string;
  readonly message: string;
  readonly graceSeconds?: number;
  /** Reported as the condition DisruptionTarget. */
  readonly disruption?: { readonly reason: string; readonly message: string };
}

export class PodWorker {
  readonly uid: string;
  readonly #options: WorkerOptions;
  readonly #stopper: StopPod;
  readonly #resize: PodResize;
  readonly #cpusets: ContainerCpusets;
  #pod: Pod;
  #isRemoved = false;
  #hasBegun = false;
  #isFinishing = false;
  #isAdmitted = false;
  #isCleanedUp = false;
  #end: PodEnd | undefined;
  #step: Promise<void> | undefined;
  #isDirty = false;
  #timer: Timer | undefined;
  #retry: Backoff;
  readonly #signal: AbortSignal;
  readonly #createdMs: number;
  /** When it was first seen, until it runs. */
  #seenMs: number | undefined;
  /** Of containers that could not be started. */
  readonly #waiting = new Map<string, WaitingReason>();
  readonly #crashes = new Map<string, BackoffEntry>();
  readonly #ends: RunEnds;
  readonly #retryAtMs = new Map<string, number>();

  constructor(pod: Pod, options: WorkerOptions, signal: AbortSignal) {
    this.uid = pod.metadata.uid ?? "";
    this.#pod = pod;
    this.#options = options;
    this.#signal = signal;
    // Pods that run already were not started by this kubelet.
    this.#createdMs = options.services.clock.elapsedMs();
    if (pod.status?.phase !== "Running") this.#seenMs = this.#createdMs;
    options.services.measured.pods.seen(pod.spec.containers?.length ?? 0);
    const { random } = options.services;
    this.#retry = new Backoff({ baseMs: 500, capMs: 60_000, jitter: 0.2, random });
    this.#resize = new PodResize(this.uid, options.services);
    this.#cpusets = new ContainerCpusets(options.services);
    this.#ends = new RunEnds(options.services.clock);
    this.#stopper = new StopPod(options.services, () => this.wake(), signal);
  }

  get pod(): Pod {
    return this.#pod;
  }

  /** With what the node has allocated to it, which a resize may not have reached yet. */
  get allocatedPod(): Pod {
    return this.#resize.running(this.#pod);
  }

  /** Whether its resources count for the node: it was admitted and is not over. */
  get isActive(): boolean {
    return this.#isAdmitted && !this.#isCleanedUp;
  }

  /** The source does not have it any more: it ends, whatever comes. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** For metrics. */
  get counted(): CountedPod {
    const { isStatic, isRuntimeOnly = false } = this.#options;
    return {
      ...{ pod: this.#pod, isStatic, isActive: this.isActive },
      origin: isRuntimeOnly ? "runtime_only" : this.#isRemoved ? "orphan" : "desired",
      lifecycle: this.#isCleanedUp
        ? "terminated"
        : this.#isEnding() || this.#isFinishing
          ? "terminating"
          : "sync",
    };
  }

  /** A change that only brings back the status that this kubelet has sent needs no step. */
  update(pod: Pod): void {
    const old = this.#pod;
    this.#pod = pod;
    if (!this.#options.services.status.isEcho(old, pod)) this.wake();
  }

  /** The source does not have it any more. `pod`: its last state. */
  remove(pod: Pod): void {
    this.#pod = pod;
    this.#isRemoved = true;
    this.wake();
  }

  end(why: PodEnd): void {
    this.#end ??= why;
    this.wake();
  }

  wake(): void {
    this.#isDirty = true;
    if (this.#signal.aborted) return;
    this.#step ??= this.#run().finally(() => {
      this.#step = undefined;
      if (this.#isDirty) this.wake();
    });
  }

  async #run(): Promise<void> {
    while (this.#isDirty && !this.#signal.aborted) {
      this.#isDirty = false;
      this.#timer?.cancel();
      try {
        const { measured } = this.#options.services;
        const wakeAtMs = await measured.podWorker(this.#operation(), () => this.#sync());
        this.#retry.reset();
        if (wakeAtMs !== undefined) this.#wakeAt(wakeAtMs);
      } catch (error) {
        if (this.#signal.aborted) return;
        const { logger, events, clock, index } = this.#options.services;
        index.distrust(this.uid);
        logger.info("a pod's step failed", { pod: this.#pod.metadata.name, why: messageOf(error) });
        if (error instanceof StepError) {
          events.pod(this.#pod, "Warning", error.reason, error.message);
        }
        this.#wakeAt(clock.elapsedMs() + this.#retry.nextMs());
      }
    }
  }

  /** As upstream's metrics call the step. */
  #operation(): "create" | "sync" | "terminating" | "terminated" {
    if (this.#isCleanedUp) return "terminated";
    if (this.#isEnding()) return "terminating";
    return this.#isAdmitted ? "sync" : "create";
  }

  /** By the clock's `elapsedMs`. */
  #wakeAt(atMs: number): void {
    const { clock } = this.#options.services;
    this.#timer?.cancel();
    this.#timer = clock.schedule(Math.max(0, atMs - clock.elapsedMs()), () => this.wake());
  }

  /** Answers when to look again (`elapsedMs`), whatever happens until then. */
  async #sync(): Promise<number | undefined> {
    const { services } = this.#options;
    this.#begin();
    const { clock } = services;
    const runtime = await this.#readRuntime();
    const deadlineMs = this.#deadlineMs();
    if (deadlineMs !== undefined && clock.nowMs() >= deadlineMs) this.#end ??= DEADLINE_EXCEEDED;
    if (await this.#refuses(runtime)) return undefined;
    const isEnding = this.#isEnding();
    if (!isEnding) await this.#resize.consider(this.#pod);
    services.probes.track(this.#pod, runtime, this.#podIp(runtime), isEnding);
    const phase = this.#report(runtime, false);
    if (isEnding || phase === "Failed" || phase === "Succeeded") return this.#finish(runtime);
    services.objects.retain(this.uid, objectRefs(this.#pod));
    const wakeAtMs = await runPod(
      {
        ...{ pod: this.allocatedPod, runtime, waiting: this.#waiting, crashes: this.#crashes },
        ...{ retryAtMs: this.#retryAtMs, resize: this.#resize, cpusets: this.#cpusets },
        ends: this.#ends,
      },
      services,
      this.#signal,
      () => this.wake(),
    );
    const leftMs = deadlineMs === undefined ? undefined : deadlineMs - clock.nowMs();
    return earliest(wakeAtMs, leftMs === undefined ? undefined : clock.elapsedMs() + leftMs);
  }

  async #readRuntime(): Promise<PodRuntime> {
    const { index, messages, runtime: cri } = this.#options.services;
    let runs = index.known(this.uid);
    if (runs === undefined) {
      runs = await findPodRuns(cri, this.uid, this.#signal);
      index.replace(this.uid, runs);
    }
    const runtime = await readPodRuntime(cri, runs, messages, this.#signal);
    index.retain(this.uid, statesOf(runtime));
    return runtime;
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { clock, measured } = this.#options.services;
    measured.pods.workerStarted((clock.elapsedMs() - this.#createdMs) / 1000);
  }

  #isEnding(): boolean {
    const { metadata } = this.#pod;
    return this.#isRemoved || this.#end !== undefined || metadata.deletionTimestamp !== undefined;
  }

  /** Pods that run already, from before a restart of the kubelet, are not asked about again. */
  async #refuses(runtime: PodRuntime): Promise<boolean> {
    if (this.#isAdmitted || this.#isEnding()) return false;
    const { phase } = this.#pod.status;
    if (runtime.sandboxes.length > 0 || phase === "Succeeded" || phase === "Failed") {
      this.#isAdmitted = true;
      return false;
    }
    const { admission, events } = this.#options.services;
    const verdict = await admission.admit(this.#pod);
    if (verdict.admitted) {
      this.#isAdmitted = true;
      return false;
    }
    const { reason, message } = verdict;
    events.pod(this.#pod, "Warning", reason, message);
    this.#end = { reason, message: `Pod was rejected: ${message}` };
    this.wake();
    return true;
  }

  #report(runtime: PodRuntime, isTerminal: boolean): string {
    const { services, isStatic } = this.#options;
    const { status, probes, node, clock } = services;
    const next = decidePodStatus({
      pod: this.allocatedPod,
      actuated: services.allocations.actuated(this.uid),
      resize: this.#isEnding() ? [] : this.#resize.conditions(),
      runtime,
      waiting: this.#waiting,
      readiness: (id) => probes.readiness(id),
      startup: (id) => probes.startup(id),
      runtimeName: node.runtimeName,
      previous: status.get(this.uid) ?? this.#pod.status ?? {},
      isTerminal,
      isStatic,
      ended: this.#end,
      hostIps: node.hostIps,
      nowMs: clock.nowMs(),
    });
    status.set(this.#pod, next);
    if (next.phase === "Running" && this.#seenMs !== undefined) {
      services.measured.podStarted((clock.elapsedMs() - this.#seenMs) / 1000);
      this.#seenMs = undefined;
    }
    return next.phase ?? "";
  }

  async #finish(runtime: PodRuntime): Promise<undefined> {
    const { services } = this.#options;
    this.#isFinishing = true;
    const hasStopped =
      !runtime.runs.some((run) => isAlive(run) && run.state === "running") &&
      !runtime.sandboxes.some(({ isReady }) => isReady) &&
      !this.#stopper.isBusy;
    if (!hasStopped) {
      this.#stopper.stop(this.#pod, runtime, this.#podIp(runtime), this.#end?.graceSeconds);
      return undefined;
    }
    this.#report(runtime, true);
    if (!this.#isCleanedUp) {
      services.probes.forget(this.uid);
      await services.dra.unprepare(this.uid);
      await services.volumes.tearDown(this.uid);
      await services.cgroups.remove(services.node.podCgroup(this.#pod));
      services.userNamespaces.release(this.uid);
      services.objects.release(this.uid);
      services.tokens.forget(this.uid);
      services.trustBundles.forget(this.uid);
      services.certificates.forget(this.uid);
      services.allocations.forget(this.uid);
      services.devices.forget(this.uid);
      services.resources.cpus.forget(this.uid);
      services.resources.memory.forget(this.uid);
      this.#isCleanedUp = true;
    }
    if (this.#isRemoved) {
      await removePod(this.#pod, runtime, services);
      services.status.forget(this.uid);
      this.#options.onGone(this.uid);
    } else if (this.#pod.metadata.deletionTimestamp !== undefined) {
      services.status.finish(this.#pod);
    }
    return undefined;
  }

  #podIp(runtime: PodRuntime): string | undefined {
    const { hostIps } = this.#options.services.node;
    return this.#pod.spec.hostNetwork ? hostIps[0] : runtime.sandboxes[0]?.ips[0];
  }

  #deadlineMs(): number | undefined {
    const { activeDeadlineSeconds } = this.#pod.spec;
    const startTime =
      this.#options.services.status.get(this.uid)?.startTime ?? this.#pod.status?.startTime;
    if (activeDeadlineSeconds === undefined || startTime === undefined) return undefined;
    return timeToMs(startTime) + activeDeadlineSeconds * 1000;
  }
}

const DEADLINE_EXCEEDED: PodEnd = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
