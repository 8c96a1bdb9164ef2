/**
 * The resize of one pod: whether the spec asks for something else than the node allocated, whether
 * the node can give it, and how far it is carried out. What it says becomes the conditions
 * PodResizePending and PodResizeInProgress.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import type { AdmissionVerdict } from "#kubelet/decide/node/admit-pod.ts";
import type { ConditionSays } from "#kubelet/decide/pod-conditions.ts";
import type { PodRuntime } from "#kubelet/decide/pod-runtime.ts";
import {
  allocationOf,
  type ContainerResize,
  decideContainerResizes,
  isPodLevelResize,
  isResizeWanted,
  resizeSummary,
  whyInfeasible,
  withAllocation,
} from "#kubelet/decide/resize.ts";
import type { PodServices } from "#kubelet/pods/pod-services.ts";
import { messageOf } from "#lib/caught.ts";
import { resizeContainers } from "./resize-containers.ts";

/** A resize that failed is tried again so often. */
const RETRY_MS = 10_000;

export class PodResize {
  readonly #services: PodServices;
  readonly #uid: string;
  #pending: { readonly reason: string; readonly message: string } | undefined;
  /** The generation of the pod that `#pending` is about. */
  #pendingGeneration = 0;
  #isInProgress = false;
  #error = "";

  constructor(uid: string, services: PodServices) {
    this.#uid = uid;
    this.#services = services;
  }

  /** The pod as the node runs it. */
  running(pod: Pod): Pod {
    return withAllocation(pod, this.#services.allocations.allocated(this.#uid));
  }

  conditions(): ConditionSays[] {
    const says: ConditionSays[] = [];
    if (this.#pending !== undefined) {
      says.push({ type: "PodResizePending", status: "True", ...this.#pending });
    }
    if (this.#isInProgress) {
      const why = this.#error === "" ? {} : { reason: "Error", message: this.#error };
      says.push({ type: "PodResizeInProgress", status: "True", ...why });
    }
    return says;
  }

  /** Allocates what the spec asks for, if the node can give it. */
  async consider(pod: Pod): Promise<void> {
    const { allocations, admission, events, measured } = this.#services;
    const allocated = allocations.allocated(this.#uid);
    if (allocated === undefined) {
      allocations.allocate(this.#uid, allocationOf(pod));
      return;
    }
    if (!isResizeWanted(pod, allocated)) {
      this.#pending = undefined;
      return;
    }
    const never = whyInfeasible(pod, allocated, this.#services.node);
    const verdict: AdmissionVerdict =
      never === undefined
        ? admission.resize(pod)
        : { admitted: false, reason: "Infeasible", message: never };
    if (!verdict.admitted) {
      const reason = verdict.reason === "Infeasible" ? "Infeasible" : "Deferred";
      const { generation = 0 } = pod.metadata;
      if (this.#pending?.reason !== reason || this.#pendingGeneration !== generation) {
        const text = `Pod resize ${reason}: ${resizeSummary(pod, verdict.message)}`;
        events.pod(pod, "Warning", `Resize${reason}`, text);
        if (never !== undefined) measured.pods.resizeInfeasible(infeasibleDetail(never));
      }
      this.#pending = { reason, message: verdict.message };
      this.#pendingGeneration = generation;
      if (reason === "Deferred") allocations.wait(this.#uid);
      return;
    }
    allocations.allocate(this.#uid, allocationOf(pod));
    await allocations.save();
    this.#pending = undefined;
    this.#isInProgress = true;
    this.#error = "";
    events.pod(pod, "Normal", "ResizeStarted", `Pod resize started: ${resizeSummary(pod)}`);
  }

  /** Containers that have to be restarted for it. */
  restarts(pod: Pod, runtime: PodRuntime): ReadonlySet<string> {
    const restarted = this.#resizes(pod, runtime).filter(({ restart }) => restart);
    return new Set(restarted.map(({ container }) => container.name));
  }

  /** Answers when the next step is due: to try again what failed, or to show what is done. */
  async carryOut(pod: Pod, runtime: PodRuntime): Promise<number | undefined> {
    const { allocations, clock, events, measured } = this.#services;
    const actuated = allocations.actuated(this.#uid);
    const resizes = this.#resizes(pod, runtime);
    if (resizes.length === 0 && (actuated === undefined || !isPodLevelResize(pod, actuated))) {
      if (!this.#isInProgress) return undefined;
      this.#isInProgress = false;
      this.#error = "";
      events.pod(pod, "Normal", "ResizeCompleted", `Pod resize completed: ${resizeSummary(pod)}`);
      return clock.elapsedMs(); // the status of this step still says that it is in progress
    }
    this.#isInProgress = true;
    const startMs = clock.elapsedMs();
    const measure = (isDone: boolean): void =>
      measured.pods.resized(clock.elapsedMs() - startMs, isDone);
    try {
      await resizeContainers(pod, withAllocation(pod, actuated), resizes, this.#services);
      this.#error = "";
      measure(true);
      return resizes.every(({ restart }) => !restart) ? clock.elapsedMs() : undefined;
    } catch (error) {
      measure(false);
      const why = messageOf(error);
      if (why !== this.#error) {
        events.pod(pod, "Warning", "ResizeError", `Pod resize error: ${resizeSummary(pod, why)}`);
      }
      this.#error = why;
      return clock.elapsedMs() + RETRY_MS;
    }
  }

  #resizes(pod: Pod, runtime: PodRuntime): ContainerResize[] {
    return decideContainerResizes(pod, runtime, this.#services.allocations.actuated(this.#uid));
  }
}

/** As the metric `pod_infeasible_resizes_total` names it. */
function infeasibleDetail(message: string): string {
  const manager = message.includes("CPU Manager") ? "cpu" : "memory";
  return `guaranteed_pod_${manager}_manager_static_policy`;
}
