/** Recycling, the oldest way to use a volume again: a pod empties it, then anybody may claim it. */

import type { Event, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { EventNote } from "#runtime/controller.ts";
import type { Write } from "#runtime/writes.ts";
import { create, remove } from "#runtime/writes.ts";
import { isFinished } from "../shared/pods.ts";
import { isTrusted } from "./recycler-pod.ts";

/** How far it is: `waiting` after the writes, emptied, or in vain. */
export type Recycling =
  | { readonly step: "waiting"; readonly writes: readonly Write[] }
  | { readonly step: "emptied"; readonly writes: readonly Write[] }
  | { readonly step: "failed"; readonly writes: readonly Write[]; readonly why: string };

/** The pod that is to empty the volume, and the one that is there. */
export interface Recycler {
  readonly wanted: Pod | undefined;
  readonly pod: Pod | undefined;
  /** What is told of the pod, as far as the volume has not been told yet. */
  readonly news: readonly Event[];
  /** By their uid: what was told before, and the news. */
  readonly told: readonly string[];
}

export const NO_RECYCLER: Recycler = { wanted: undefined, pod: undefined, news: [], told: [] };

export function recycle(volume: PersistentVolume, { wanted, pod }: Recycler): Recycling {
  if (wanted === undefined)
    return { step: "failed", writes: [], why: "No recycler plugin found for the volume!" };
  if (pod === undefined) return { step: "waiting", writes: [create(podKind, wanted)] };
  if (pod.metadata.deletionTimestamp !== undefined) return { step: "waiting", writes: [] };
  // It goes before the volume is free: one that stays would vouch for the next time, too.
  const writes = [remove(podKind, pod)];
  if (!isTrusted(pod, wanted, volume)) return { step: "waiting", writes };
  if (!isFinished(pod)) return { step: "waiting", writes: [] };
  if (pod.status.phase === "Succeeded") return { step: "emptied", writes };
  const why = pod.status.message || "pod failed, pod.Status.Message unknown";
  return { step: "failed", writes, why: `Recycle failed: failed to recycle volume: ${why}` };
}

/** The pod is not the user's: what happens to it is told of the volume. */
export function repeated(volume: PersistentVolume, news: readonly Event[]): EventNote[] {
  return news.map(({ type, message = "" }) => ({
    about: volume,
    type: type === "Warning" ? "Warning" : "Normal",
    reason: "RecyclerPod",
    message: `Recycler pod: ${message}`,
  }));
}
