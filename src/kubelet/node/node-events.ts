/** Events about the node itself. */
import type { EventRecorder } from "#client/event-recorder.ts";

export type NodeEvent = (type: "Normal" | "Warning", reason: string, message: string) => void;

/** Upstream's kubelet writes the node's name as its uid. */
export function nodeEventsOf(recorder: EventRecorder, nodeName: string): NodeEvent {
  const about = { apiVersion: "v1", kind: "Node", name: nodeName, uid: nodeName };
  return (type, reason, message) => recorder.record("kubelet", { about, type, reason, message });
}
