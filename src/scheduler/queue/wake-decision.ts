/** Whether a change of the cluster is a reason to try a rejected pod again. */
import type { Profile } from "#scheduler/cycle/profile.ts";
import type { EventName, EventObjects, WakeRule } from "#scheduler/plugin.ts";
import type { QueuedPod } from "./queued-pod.ts";

export interface ClusterChange<Name extends EventName = EventName> {
  readonly event: Name;
  /** Of a deletion, the object as it last was. */
  readonly next: EventObjects[Name];
  readonly old: EventObjects[Name] | undefined;
}

/** A pod that no plugin rejected failed by an error: any change may help it. */
export function isWokenBy(pod: QueuedPod, profile: Profile, change: ClusterChange): boolean {
  if (pod.rejectors.size === 0) return true;
  for (const plugin of pod.rejectors) {
    const rules = profile.wakeRules.get(plugin);
    if (rules === undefined) return true;
    const rule = rules.get(change.event) as WakeRule | undefined;
    if (rule === undefined) continue;
    if (rule.wakes === undefined || rule.wakes(pod.info, change.next, change.old)) return true;
  }
  return false;
}
