/**
 * When the change happened that endpoints are about to show: the earliest change of a pod's readiness
 * since the last reconcile, or the creation of the Service. Consumers measure the propagation latency
 * from it, so the last seen times are remembered per Service.
 */
import type { Pod, Service } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { readyCondition } from "../shared/pods.ts";

export interface Seen {
  readonly serviceUid: string;
  readonly podTimes: ReadonlyMap<string, string>;
}

export interface Trigger {
  /** The time to write down; undefined if nothing that has a time has changed. */
  readonly time: string | undefined;
  readonly seen: Seen;
}

export function triggerOf(last: Seen | undefined, service: Service, pods: readonly Pod[]): Trigger {
  const { uid = "", creationTimestamp } = service.metadata;
  const podTimes = new Map(
    pods.flatMap((pod) => {
      const time = readyCondition(pod)?.lastTransitionTime;
      return time ? [[pod.metadata.name ?? "", time] as const] : [];
    }),
  );
  const seen = { serviceUid: uid, podTimes };
  if (last?.serviceUid !== uid) return { time: creationTimestamp ?? undefined, seen };
  const changed = [...podTimes].flatMap(([pod, time]) => {
    const known = last.podTimes.get(pod);
    return known === undefined || timeToMs(time) > timeToMs(known) ? [time] : [];
  });
  return { time: changed.sort((a, b) => timeToMs(a) - timeToMs(b))[0], seen };
}
