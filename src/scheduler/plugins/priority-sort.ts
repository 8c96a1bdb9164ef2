/** Orders the queue by priority, then by the time a pod has waited. */
import { definePlugin, type PluginFactory } from "#scheduler/plugin.ts";
import type { QueuedPod } from "#scheduler/queue/queued-pod.ts";

export const prioritySort: PluginFactory = {
  name: "PrioritySort",
  create: () => definePlugin({ name: "PrioritySort", queueSort: byPriority }),
};

/** Negative if `a` is tried before `b`. */
export function byPriority(a: QueuedPod, b: QueuedPod): number {
  return b.info.priority - a.info.priority || a.sinceMs - b.sinceMs || a.order - b.order;
}
