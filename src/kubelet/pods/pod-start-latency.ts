/**
 * Measures how long pods of the API server took to start (`decide/pod-start.ts`), once each. Pods that the
 * kubelet finds already started, and those that had to wait for the scheduler, are left out.
 *
 * Limit: an entry for each pod of the node, until it is gone.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import {
  decidePodStart,
  hasStarted,
  type PullSession,
  wasUnschedulable,
} from "#kubelet/decide/pod-start.ts";
import { POD_START_SECONDS } from "#kubelet/node/kubelet-metrics.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";

export class PodStartLatency {
  readonly #clock: Pick<Clock, "nowMs">;
  /** Of pods that are starting: their pulls. Undefined: not to be measured, or measured already. */
  readonly #pods = new Map<string, PullSession[] | undefined>();
  readonly #observe: (totalSeconds: number) => void;
  readonly #observeSli: (seconds: number) => void;
  readonly #firstWithNetwork: (seconds: number) => void;
  #hasFirst = false;

  constructor(metrics: Metrics, clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
    const histogram = (name: string, help: string) =>
      metrics.histogram({ name: `kubelet_${name}`, help, buckets: POD_START_SECONDS })();
    const total = histogram(
      "pod_start_total_duration_seconds",
      "Time from a pod's creation until a watch shows that all its containers have started.",
    );
    const sli = histogram(
      "pod_start_sli_duration_seconds",
      "The same without the time to pull images and to run init containers.",
    );
    const first = metrics.gauge({
      name: "kubelet_first_network_pod_start_sli_duration_seconds",
      help: "The same of the first pod that has a network of its own.",
    })();
    this.#observe = (seconds) => total.observe(seconds);
    this.#observeSli = (seconds) => sli.observe(seconds);
    this.#firstWithNetwork = (seconds) => first.set(seconds);
  }

  /** The pod as a watch shows it. */
  observe(pod: Pod): void {
    const { uid = "" } = pod.metadata;
    if (!this.#pods.has(uid)) {
      const isNew = !pod.status?.startTime && !isOver(pod) && !wasUnschedulable(pod);
      this.#pods.set(uid, isNew ? [] : undefined);
      return;
    }
    const pulls = this.#pods.get(uid);
    if (pulls === undefined) return;
    if (isOver(pod) || wasUnschedulable(pod)) this.#pods.set(uid, undefined);
    else if (hasStarted(pod)) {
      this.#measure(pod, pulls);
      this.#pods.set(uid, undefined);
    }
  }

  pulled(podUid: string, session: PullSession): void {
    this.#pods.get(podUid)?.push(session);
  }

  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }

  #measure(pod: Pod, pulls: readonly PullSession[]): void {
    const { totalMs, sliMs } = decidePodStart(pod, pulls, this.#clock.nowMs());
    this.#observe(totalMs / 1000);
    if (sliMs === undefined) return;
    this.#observeSli(sliMs / 1000);
    if (this.#hasFirst || pod.spec.hostNetwork) return;
    this.#hasFirst = true;
    this.#firstWithNetwork(sliMs / 1000);
  }
}

function isOver({ status }: Pod): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}
