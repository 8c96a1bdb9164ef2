/** Observes the recycler pod of a volume and its Events. */

import type { Event, PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Caches, Reader } from "#runtime/controller.ts";
import { watchList } from "#runtime/watch-list.ts";
import type { Recycler } from "./recycle.ts";
import { type Recyclers, recyclerPod } from "./recycler-pod.ts";

/** `reported`: the uids of Events that were copied to the volume before. */
export async function observeRecycler(
  volume: PersistentVolume,
  recyclers: Recyclers,
  caches: Caches,
  reader: Reader,
  reported: readonly string[] = [],
): Promise<Recycler> {
  const wanted = recyclerPod(volume, recyclers);
  const { namespace, name = "" } = wanted?.metadata ?? {};
  const pod = wanted === undefined ? undefined : caches(podKind).get(namespace, name);
  if (pod === undefined) return { wanted, pod, newEvents: [], reported: [] };
  const events = await eventsOf(pod, reader);
  if (events === undefined) return { wanted, pod, newEvents: [], reported };
  const known = new Set(reported);
  return {
    wanted,
    pod,
    newEvents: events.filter(({ metadata }) => !known.has(metadata.uid ?? "")),
    reported: events.map(({ metadata }) => metadata.uid ?? ""),
  };
}

/** The controller's role may watch events, not list them. */
async function eventsOf({ metadata }: Pod, reader: Reader): Promise<readonly Event[] | undefined> {
  const { namespace = "", name, uid } = metadata;
  const fieldSelector = `involvedObject.name=${name},involvedObject.uid=${uid}`;
  try {
    return await watchList(reader, eventKind, { namespace, fieldSelector });
  } catch {
    return undefined; // recycling goes on without the Events: the next reconcile reads them
  }
}
