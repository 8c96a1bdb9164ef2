/**
 * When the change happened that endpoints are about to show: the earliest change of a pod's readiness
 * since the last look, or the creation of the service. Consumers measure from it how long it took for
 * the news to reach them, so it is remembered per service what was seen.
 */
import type { Pod, Service } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { readyCondition } from "../pods.ts";

interface Seen {
  readonly serviceUid: string;
  readonly podTimes: ReadonlyMap<string, string>;
}

const SERVICES_MAX = 100_000;

export class TriggerTimes {
  readonly #seen = new Map<string, Seen>();

  /** The time to write down; undefined if nothing that has a time has changed. */
  next(service: Service, pods: readonly Pod[]): string | undefined {
    const { namespace, name, uid = "", creationTimestamp } = service.metadata;
    const id = `${namespace}/${name}`;
    const last = this.#seen.get(id);
    const podTimes = new Map(
      pods.flatMap((pod) => {
        const time = readyCondition(pod)?.lastTransitionTime;
        return time ? [[pod.metadata.name ?? "", time] as const] : [];
      }),
    );
    this.#remember(id, { serviceUid: uid, podTimes });
    if (last === undefined || last.serviceUid !== uid) return creationTimestamp;
    const changed = [...podTimes].flatMap(([pod, time]) => {
      const known = last.podTimes.get(pod);
      return known === undefined || timeToMs(time) > timeToMs(known) ? [time] : [];
    });
    return changed.sort((a, b) => timeToMs(a) - timeToMs(b))[0];
  }

  forget(namespace: string | undefined, name: string): void {
    this.#seen.delete(`${namespace}/${name}`);
  }

  #remember(id: string, seen: Seen): void {
    this.#seen.delete(id);
    this.#seen.set(id, seen);
    if (this.#seen.size <= SERVICES_MAX) return;
    const oldest = this.#seen.keys().next();
    if (!oldest.done) this.#seen.delete(oldest.value);
  }
}
