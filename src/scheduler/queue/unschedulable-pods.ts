/**
 * Pods that wait for a change of the cluster, grouped by the plugins that rejected them or keep them
 * out of the queue. A change is offered only to groups of which a plugin has a rule for it; within a
 * group only to the pods that the rules name, if they name pods.
 */
import type { Profile } from "#scheduler/cycle/profile.ts";
import type { AnyWakeRule, WakeRule } from "#scheduler/plugin.ts";
import type { QueuedPod } from "./queued-pod.ts";
import type { ClusterChange } from "./wake-decision.ts";

interface Group {
  /** The plugins that rejected the pods; of gated pods the one that keeps them out. */
  readonly plugins: readonly string[];
  readonly isGated: boolean;
  readonly schedulerName: string;
  /** By uid. */
  readonly pods: Map<string, QueuedPod>;
}

export class UnschedulablePods {
  readonly #pods = new Map<string, QueuedPod>();
  readonly #groupOf = new Map<string, Group>();
  /** Empty groups are removed. */
  readonly #groups = new Map<string, Group>();

  get size(): number {
    return this.#pods.size;
  }

  /** Pods that a `preEnqueue` plugin keeps out of the queue. */
  get gatedCount(): number {
    let count = 0;
    for (const { isGated, pods } of this.#groups.values()) if (isGated) count += pods.size;
    return count;
  }

  get(uid: string): QueuedPod | undefined {
    return this.#pods.get(uid);
  }

  values(): IterableIterator<QueuedPod> {
    return this.#pods.values();
  }

  /** To be called again when the pod's rejectors or gate change. */
  set(uid: string, pod: QueuedPod): void {
    const key = groupKey(pod);
    let group = this.#groups.get(key);
    if (group === undefined || group !== this.#groupOf.get(uid)) {
      this.delete(uid);
      group = this.#groups.get(key) ?? createGroup(pod);
      this.#groups.set(key, group);
      this.#groupOf.set(uid, group);
    }
    group.pods.set(uid, pod);
    this.#pods.set(uid, pod);
  }

  delete(uid: string): void {
    const group = this.#groupOf.get(uid);
    if (group === undefined) return;
    const pod = group.pods.get(uid)!;
    group.pods.delete(uid);
    if (group.pods.size === 0) this.#groups.delete(keyOf(group));
    this.#groupOf.delete(uid);
    this.#pods.delete(pod.info.uid);
  }

  /** Pods that the change may concern, by the rules of the plugins that hold them back. */
  concernedBy(
    change: ClusterChange,
    profileOf: (schedulerName: string) => Profile | undefined,
  ): readonly QueuedPod[] {
    const concerned: QueuedPod[] = [];
    for (const group of this.#groups.values()) {
      const uids = uidsIn(group, change, profileOf(group.schedulerName));
      if (uids === "all") for (const pod of group.pods.values()) concerned.push(pod);
      else {
        for (const uid of uids) {
          const pod = group.pods.get(uid);
          if (pod !== undefined) concerned.push(pod);
        }
      }
    }
    return concerned;
  }
}

const NONE: ReadonlySet<string> = new Set();

function uidsIn(
  { plugins, isGated }: Group,
  change: ClusterChange,
  profile: Profile | undefined,
): ReadonlySet<string> | "all" {
  // A pod that no plugin rejected failed by an error: any change may help it.
  if (profile === undefined || plugins.length === 0) return "all";
  let uids = NONE;
  for (const plugin of plugins) {
    const rules = profile.wakeRules.get(plugin);
    if (rules === undefined) {
      if (isGated) continue; // such a pod waits for a change of its own
      return "all";
    }
    const rule = rules.get(change.event);
    if (rule === undefined) continue;
    const affected = affectedBy(rule, change);
    if (affected === undefined) return "all";
    uids = uids.size === 0 ? new Set(affected) : new Set([...uids, ...affected]);
  }
  return uids;
}

function affectedBy(rule: AnyWakeRule, { next, old }: ClusterChange): Iterable<string> | undefined {
  return (rule as WakeRule).affects?.(next, old);
}

function createGroup({ info, rejectors, gatedBy }: QueuedPod): Group {
  return {
    plugins: gatedBy === undefined ? [...rejectors] : [gatedBy],
    isGated: gatedBy !== undefined,
    schedulerName: info.pod.spec.schedulerName ?? "",
    pods: new Map(),
  };
}

function groupKey(pod: QueuedPod): string {
  return keyOf(createGroup(pod));
}

function keyOf({ plugins, isGated, schedulerName }: Group): string {
  return `${isGated ? "gated" : "rejected"} ${schedulerName} ${plugins.toSorted().join(" ")}`;
}
