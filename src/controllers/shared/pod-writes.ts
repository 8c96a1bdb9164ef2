/** Creates and deletes the pods of a workload, with the Events that all workloads share. */

import type { Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { create, noted, remove, type Write } from "#runtime/writes.ts";

export function createPod(owner: KubeObject, pod: Pod): Write {
  return noted(create(podKind, pod), {
    onDone: {
      about: owner,
      type: "Normal",
      reason: "SuccessfulCreate",
      message: "Created pod: {name}",
    },
    onRefused: {
      about: owner,
      type: "Warning",
      reason: "FailedCreate",
      message: "Error creating: {error}",
    },
  });
}

export function deletePod(owner: KubeObject, pod: Pod): Write {
  return noted(remove(podKind, pod), {
    onDone: {
      about: owner,
      type: "Normal",
      reason: "SuccessfulDelete",
      message: "Deleted pod: {name}",
    },
    onRefused: {
      about: owner,
      type: "Warning",
      reason: "FailedDelete",
      message: "Error deleting: {error}",
    },
  });
}
