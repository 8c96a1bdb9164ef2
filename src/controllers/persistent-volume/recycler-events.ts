/** Reads what is told of the pod that empties a volume. */

import type { Event, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Caches, Reader } from "#runtime/controller.ts";
import { watchList } from "#runtime/watch-list.ts";
import type { Recycler } from "./recycle.ts";
import { type Recyclers, recyclerPod } from "./recycler-pod.ts";

/** `told`: the uids of what the volume has been told before. */
export async function observeRecycler(
  volume: PersistentVolume,
  recyclers: Recyclers,
  caches: Caches,
  reader: Reader,
  told: readonly string[] = [],
): Promise<Recycler> {
  const wanted = recyclerPod(volume, recyclers);
  const { namespace, name = "" } = wanted?.metadata ?? {};
  const pod = wanted === undefined ? undefined : caches(podKind).get(namespace, name);
  if (pod === undefined) return { wanted, pod, news: [], told: [] };
  const events = await eventsOf(pod, reader);
  if (events === undefined) return { wanted, pod, news: [], told };
  const known = new Set(told);
  return {
    wanted,
    pod,
    news: events.filter(({ metadata }) => !known.has(metadata.uid ?? "")),
    told: events.map(({ metadata }) => metadata.uid ?? ""),
  };
}

/** The controller's role may watch events, not list them. */
async function eventsOf({ metadata }: Pod, reader: Reader): Promise<readonly Event[] | undefined> {
  const { namespace = "", name, uid } = metadata;
  const fieldSelector = `involvedObject.name=${name},involvedObject.uid=${uid}`;
  try {
    return await watchList(reader, eventKind, { namespace, fieldSelector });
  } catch {
    return undefined; // to empty the volume matters more than to tell of it: the next look tells
  }
}
