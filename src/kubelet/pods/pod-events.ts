/** Events of pods and their containers, written as by upstream's kubelet. */
import type { ObjectReference, Pod } from "#api/generated/core.v1.ts";
import { type EventRecorder, referenceTo } from "#client/event-recorder.ts";

export interface PodEvents {
  pod(pod: Pod, type: "Normal" | "Warning", reason: string, message: string): void;
  container(
    pod: Pod,
    name: string,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void;
}

export function createPodEvents(recorder: EventRecorder): PodEvents {
  return {
    pod: (pod, type, reason, message) => {
      recorder.record("kubelet", { about: podReference(pod), type, reason, message });
    },
    container: (pod, name, type, reason, message) => {
      const about = { ...podReference(pod), fieldPath: fieldPathOf(pod, name) };
      recorder.record("kubelet", { about, type, reason, message });
    },
  };
}

function podReference(pod: Pod): ObjectReference {
  return { ...referenceTo(pod), kind: "Pod", apiVersion: "v1" };
}

function fieldPathOf({ spec }: Pod, name: string): string {
  const has = (list: readonly { readonly name: string }[] | null | undefined): boolean =>
    list?.some((one) => one.name === name) ?? false;
  if (has(spec.initContainers)) return `spec.initContainers{${name}}`;
  if (has(spec.ephemeralContainers)) return `spec.ephemeralContainers{${name}}`;
  return `spec.containers{${name}}`;
}
