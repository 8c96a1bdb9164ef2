/**
 * Pods that are being tried now, and what has changed since the oldest of these attempts began, so that no
 * change is missed by a pod that comes back.
 *
 * Limit: CHANGES_MAX changes are remembered. Beyond that the oldest are dropped, and a pod whose attempt began
 * before counts as woken.
 */
import type { EventName } from "#scheduler/plugin.ts";
import type { QueuedPod } from "./queued-pod.ts";
import type { ClusterChange } from "./wake-decision.ts";

const CHANGES_MAX = 10_000;

export class InFlightPods {
  /** With the place in the list of changes where the attempt began. */
  readonly #pods = new Map<string, { readonly pod: QueuedPod; readonly since: number }>();
  #changes: ClusterChange[] = [];
  /** The number of the first change that is still remembered. */
  #firstChange = 0;

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid)?.pod;
  }

  begin(pod: QueuedPod): void {
    this.#pods.set(pod.info.uid, { pod, since: this.#firstChange + this.#changes.length });
  }

  end(uid: string): void {
    this.#pods.delete(uid);
    this.#forgetChanges();
  }

  remember(change: ClusterChange): void {
    if (this.#pods.size === 0) return;
    this.#changes.push(change);
    if (this.#changes.length <= CHANGES_MAX) return;
    const dropped = this.#changes.length >> 1;
    this.#changes = this.#changes.slice(dropped);
    this.#firstChange += dropped;
  }

  /** Whether a change since the attempt began wakes the pod, or may have. */
  wasWoken(uid: string, isWokenBy: (change: ClusterChange) => boolean): boolean {
    const since = this.#pods.get(uid)?.since ?? 0;
    if (since < this.#firstChange) return true;
    for (let i = since - this.#firstChange; i < this.#changes.length; i++) {
      if (isWokenBy(this.#changes[i]!)) return true;
    }
    return false;
  }

  /** How many changes are remembered, by their name, and how many pods there are. */
  get counts(): ReadonlyMap<EventName | "PodPopped", number> {
    const counts = new Map<EventName | "PodPopped", number>([["PodPopped", this.#pods.size]]);
    for (const { event } of this.#changes) counts.set(event, (counts.get(event) ?? 0) + 1);
    return counts;
  }

  #forgetChanges(): void {
    if (this.#changes.length === 0) return;
    const [oldest] = this.#pods.values(); // the first in the map began first
    const keepFrom = oldest?.since ?? this.#firstChange + this.#changes.length;
    const dropped = keepFrom - this.#firstChange;
    if (dropped < this.#changes.length && dropped < CHANGES_MAX / 10) return;
    this.#changes = this.#changes.slice(dropped);
    this.#firstChange = keepFrom;
  }
}
