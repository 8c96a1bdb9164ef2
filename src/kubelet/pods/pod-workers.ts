/** The workers of all pods of the node. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { CountedPod } from "#kubelet/node/pod-counts.ts";
import { POD_NAME, POD_NAMESPACE, POD_UID } from "#kubelet/runtime/labels.ts";
import type { KnownRuns } from "#kubelet/runtime/read-pod-runtime.ts";
import type { PodServices } from "./pod-services.ts";
import { type PodEnd, PodWorker, type WorkerOptions } from "./pod-worker.ts";

export class PodWorkers {
  readonly #workers = new Map<string, PodWorker>();
  /** Pods that came back while a worker still ends what was there before, by uid. */
  readonly #returned = new Map<string, { readonly pod: Pod; readonly isStatic: boolean }>();
  readonly #signal: AbortSignal;
  #services: PodServices | undefined;
  /** Whether everything that the runtime had from before has a worker. */
  #hasAllOrphans = false;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Services and workers need each other: this ties the knot. */
  use(services: PodServices): void {
    this.#services = services;
  }

  update(pod: Pod, isStatic: boolean): void {
    const uid = pod.metadata.uid ?? "";
    const known = this.#workers.get(uid);
    if (known === undefined) this.#start(pod, { isStatic }).wake();
    else if (known.isRemoved) this.#returned.set(uid, { pod, isStatic });
    else known.update(pod);
  }

  remove(pod: Pod): void {
    this.#returned.delete(pod.metadata.uid ?? "");
    this.#workers.get(pod.metadata.uid ?? "")?.remove(pod);
  }

  wake(uid: string): void {
    this.#workers.get(uid)?.wake();
  }

  end(uid: string, why: PodEnd): void {
    this.#workers.get(uid)?.end(why);
  }

  has(uid: string): boolean {
    return this.#workers.has(uid);
  }

  isActive(uid: string): boolean {
    return this.#workers.get(uid)?.isActive ?? false;
  }

  get(uid: string): Pod | undefined {
    return this.#workers.get(uid)?.pod;
  }

  pods(): Pod[] {
    return [...this.#workers.values()].map(({ pod }) => pod);
  }

  counted(): readonly CountedPod[] {
    return [...this.#workers.values()].map(({ counted }) => counted);
  }

  /** Pods that hold resources of the node. */
  active(): Pod[] {
    const active = [...this.#workers.values()].filter(({ isActive }) => isActive);
    return active.map(({ allocatedPod }) => allocatedPod);
  }

  /** Ends what the runtime still has of pods that no source has: from before a restart. */
  async endOrphans(): Promise<void> {
    const { items } = await this.#need().runtime.listPodSandbox({});
    for (const { labels, metadata } of items) {
      const uid = labels[POD_UID] ?? metadata?.uid ?? "";
      if (uid === "" || this.#workers.has(uid)) continue;
      const pod = orphan(uid, labels);
      this.#need().measured.pods.orphaned();
      this.#start(pod, { isStatic: false, isRuntimeOnly: true }).remove(pod);
    }
    this.#hasAllOrphans = true;
  }

  #start(pod: Pod, origin: Pick<WorkerOptions, "isStatic" | "isRuntimeOnly">): PodWorker {
    const services = this.#need();
    const onGone = (uid: string): void => {
      this.#workers.delete(uid);
      this.#restart(uid);
    };
    const worker = new PodWorker(pod, { services, ...origin, onGone }, this.#signal);
    // Nothing of it runs: only this kubelet starts containers of its pods.
    if (this.#hasAllOrphans) services.index.replace(worker.uid, NOTHING);
    this.#workers.set(worker.uid, worker);
    return worker;
  }

  /** A pod that came back with its uid, as static pods do, begins anew once nothing is left of the old one. */
  #restart(uid: string): void {
    const returned = this.#returned.get(uid);
    if (returned === undefined) return;
    this.#returned.delete(uid);
    const { pod, isStatic } = returned;
    this.#need().measured.pods.restarted(isStatic);
    this.#start(pod, { isStatic }).wake();
  }

  #need(): PodServices {
    if (this.#services === undefined) throw new Error("pod workers were not given their services");
    return this.#services;
  }
}

const NOTHING: KnownRuns = { sandboxIds: [], containers: [] };

/** All that is known of a pod whose object is gone. */
function orphan(uid: string, labels: Readonly<Record<string, string>>): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      uid,
      name: labels[POD_NAME] ?? "",
      namespace: labels[POD_NAMESPACE] ?? "",
      deletionGracePeriodSeconds: 1,
    },
    spec: { containers: [] },
    status: {},
  };
}
