/** The reclaim policy Recycle: a pod scrubs the volume, then it is Available again. */

import type { Event, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { EventNote } from "#runtime/controller.ts";
import type { Write } from "#runtime/writes.ts";
import { create, remove } from "#runtime/writes.ts";
import { isFinished } from "../shared/pods.ts";
import { isTrusted } from "./recycler-pod.ts";

/** Progress: `waiting` after the writes, emptied, or failed. */
export type Recycling =
  | { readonly step: "waiting"; readonly writes: readonly Write[] }
  | { readonly step: "emptied"; readonly writes: readonly Write[] }
  | { readonly step: "failed"; readonly writes: readonly Write[]; readonly why: string };

/** The recycler pod as it should be, and as it exists. */
export interface Recycler {
  readonly wanted: Pod | undefined;
  readonly pod: Pod | undefined;
  /** Events of the pod that were not copied to the volume yet. */
  readonly newEvents: readonly Event[];
  /** The uids of all Events of the pod, copied before or now. */
  readonly reported: readonly string[];
}

export const NO_RECYCLER: Recycler = {
  wanted: undefined,
  pod: undefined,
  newEvents: [],
  reported: [],
};

export function recycle(volume: PersistentVolume, { wanted, pod }: Recycler): Recycling {
  if (wanted === undefined)
    return { step: "failed", writes: [], why: "No recycler plugin found for the volume!" };
  if (pod === undefined) return { step: "waiting", writes: [create(podKind, wanted)] };
  if (pod.metadata.deletionTimestamp !== undefined) return { step: "waiting", writes: [] };
  // The pod is deleted before the volume is released: otherwise its success would count for the next recycling.
  const writes = [remove(podKind, pod)];
  if (!isTrusted(pod, wanted, volume)) return { step: "waiting", writes };
  if (!isFinished(pod)) return { step: "waiting", writes: [] };
  if (pod.status.phase === "Succeeded") return { step: "emptied", writes };
  const why = pod.status.message || "pod failed, pod.Status.Message unknown";
  return { step: "failed", writes, why: `Recycle failed: failed to recycle volume: ${why}` };
}

/** Events of the recycler pod, which users do not own, copied to the volume. */
export function volumeEvents(volume: PersistentVolume, events: readonly Event[]): EventNote[] {
  return events.map(({ type, message = "" }) => ({
    about: volume,
    type: type === "Warning" ? "Warning" : "Normal",
    reason: "RecyclerPod",
    message: `Recycler pod: ${message}`,
  }));
}
