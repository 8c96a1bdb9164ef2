/** Whether a change of the cluster is a reason to try a rejected pod again. */
import type { Profile } from "#scheduler/cycle/profile.ts";
import type { QueueMetrics } from "#scheduler/metrics/queue-metrics.ts";
import type { EventName, EventObjects, WakeRule } from "#scheduler/plugin.ts";
import type { QueuedPod } from "./queued-pod.ts";

export interface ClusterChange<Name extends EventName = EventName> {
  readonly event: Name;
  /** Of a deletion, the object as it last was. */
  readonly next: EventObjects[Name];
  readonly old: EventObjects[Name] | undefined;
}

export type HintObserver = Pick<QueueMetrics, "nowMs" | "hintEnded">;

/** A pod that no plugin rejected failed by an error: any change may help it. */
export function isWokenBy(
  pod: QueuedPod,
  profile: Profile,
  change: ClusterChange,
  observer?: HintObserver,
): boolean {
  if (pod.rejectors.size === 0) return true;
  for (const plugin of pod.rejectors) {
    if (profile.wakeRules.get(plugin) === undefined) return true;
    if (wakes(plugin, profile, pod, change, observer)) return true;
  }
  return false;
}

/** Whether one of the plugin's rules is about the change and wakes the pod. */
export function wakes(
  plugin: string,
  profile: Profile,
  { info }: QueuedPod,
  { event, next, old }: ClusterChange,
  observer?: HintObserver,
): boolean {
  const rule = profile.wakeRules.get(plugin)?.get(event) as WakeRule | undefined;
  if (rule === undefined) return false;
  if (rule.wakes === undefined) return true;
  if (observer === undefined) return rule.wakes(info, next, old);
  const sinceMs = observer.nowMs();
  const isWoken = rule.wakes(info, next, old);
  observer.hintEnded(plugin, event, isWoken, sinceMs);
  return isWoken;
}
