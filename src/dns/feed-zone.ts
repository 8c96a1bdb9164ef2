/** Keeps a zone equal to what the API server has: one informer for each kind that names come from. */

import type { Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Typed } from "#client/client.ts";
import {
  endpointSliceResource,
  namespaceResource,
  podResource,
  serviceResource,
} from "#client/node-resources.ts";
import type { ObjectSource } from "./object-source.ts";
import { trimNamespace, trimPod, trimService, trimSlice } from "./trim-objects.ts";
import type { PodAddresses } from "./zone/pod-addresses.ts";
import type { Zone } from "./zone/zone.ts";

export interface ZoneFeed {
  /** Resolves when the zone shows everything that there was at the start. */
  readonly synced: Promise<void>;
  /** Resolves after the signal aborted, when the watches have ended. */
  readonly done: Promise<void>;
}

/** Headless Services have their endpoints in slices that no proxy needs, so all slices are watched. */
export function feedZone(zone: Zone, objects: ObjectSource, signal: AbortSignal): ZoneFeed {
  const feeds = [
    feed(objects, namespaceResource, signal, {
      trim: trimNamespace,
      put: ({ metadata }) => zone.addNamespace(metadata.name ?? ""),
      remove: ({ metadata }) => zone.removeNamespace(metadata.name ?? ""),
    }),
    feed(objects, serviceResource, signal, {
      trim: trimService,
      put: (service) => zone.putService(service),
      remove: (service) => zone.removeService(service),
    }),
    feed(objects, endpointSliceResource, signal, {
      trim: trimSlice,
      put: (slice) => zone.putSlice(slice),
      remove: (slice) => zone.removeSlice(slice),
    }),
  ];
  return {
    synced: Promise.all(feeds.map(({ synced }) => synced)).then(() => undefined),
    done: Promise.all(feeds.map(({ done }) => done)).then(() => undefined),
  };
}

/** Only for configurations whose answers depend on the addresses of pods: there may be very many. */
export function feedPods(pods: PodAddresses, objects: ObjectSource, signal: AbortSignal): ZoneFeed {
  return feed(objects, podResource, signal, {
    trim: trimPod,
    put: (pod: Pod) => pods.put(pod),
    remove: (pod: Pod) => pods.remove(pod),
  });
}

interface Sink<T> {
  trim(object: T): T;
  put(object: T): void;
  remove(object: T): void;
}

function feed<T extends KubeObject>(
  objects: ObjectSource,
  kind: Typed<T>,
  signal: AbortSignal,
  sink: Sink<T>,
): ZoneFeed {
  const { informer, released } = objects.follow(kind, (object) => sink.trim(object), signal);
  informer.on(({ next, old }) => {
    if (next !== undefined) sink.put(next);
    else if (old !== undefined) sink.remove(old);
  }, signal);
  // Another user of the same informer may have started it before.
  for (const object of informer.cache.list()) sink.put(object);
  return { synced: informer.synced, done: released };
}
