/** The Events of a StatefulSet about its pods. */

import type { StatefulSet } from "#api/generated/apps.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Notes, noted, type Write } from "#runtime/writes.ts";

export function notes(
  set: StatefulSet,
  verb: "Create" | "Update" | "Delete",
  podName: string,
  claimName?: string,
  error = "{error}",
): Notes {
  const { name } = set.metadata;
  const claim = claimName === undefined ? "" : `Claim ${claimName} `;
  const pod = `Pod ${podName} in StatefulSet ${name}`;
  const failed = `${verb} ${claim}${claim === "" ? "" : "for "}${pod} failed error: ${error}`;
  const done = `${verb} ${claim}${pod} ${claim === "" ? "successful" : "success"}`;
  return {
    onDone: { about: set, type: "Normal", reason: `Successful${verb}`, message: done },
    onRefused: { about: set, type: "Warning", reason: `Failed${verb}`, message: failed },
    // A pod or claim of another owner has the name: this is retried, without an Event each time.
    ...(verb === "Create" ? { noEventFor: "AlreadyExists" } : {}),
  };
}

/** One event about the pod, whether itself or its claims changed; a refusal says what of it. */
export function withUpdateEvent(
  set: StatefulSet,
  podName: string,
  writes: readonly Write[],
): readonly Write[] {
  return writes.map((write, i) => {
    const claim = write.kind === podKind || write.op !== "update" ? undefined : write.object;
    const error =
      claim === undefined
        ? "{error}"
        : `could not update claim ${claim.metadata.name} for delete policy ownerRefs: {error}`;
    const { onDone, onRefused } = notes(set, "Update", podName, undefined, error);
    const isLast = i === writes.length - 1;
    return noted(write, {
      ...(isLast && onDone !== undefined ? { onDone } : {}),
      ...(onRefused === undefined ? {} : { onRefused }),
      noEventFor: "Conflict",
    });
  });
}
