/** Keeps a zone equal to what the API server has: one watch for each kind that names come from. */

import {
  endpointSliceResource,
  namespaceResource,
  podResource,
  serviceResource,
} from "#client/node-resources.ts";
import type { Followed, ObjectSource } from "./object-source.ts";
import type { PodAddresses } from "./zone/pod-addresses.ts";
import type { Zone } from "./zone/zone.ts";

/** Headless Services have their endpoints in slices that no proxy needs, so all slices are watched. */
export function feedZone(zone: Zone, objects: ObjectSource, signal: AbortSignal): Followed {
  const { services } = zone;
  const feeds = [
    objects.follow(
      namespaceResource,
      {
        put: ({ metadata }) => zone.addNamespace(metadata.name ?? ""),
        remove: ({ metadata }) => zone.removeNamespace(metadata.name ?? ""),
        retain: (current) => zone.retainNamespaces(current),
      },
      signal,
    ),
    objects.follow(
      serviceResource,
      {
        put: (service) => services.putService(service),
        remove: (service) => services.removeService(service),
        retain: (current) => services.retainServices(current),
      },
      signal,
    ),
    objects.follow(
      endpointSliceResource,
      {
        put: (slice) => services.putSlice(slice),
        remove: (slice) => services.removeSlice(slice),
        retain: (current) => services.retainSlices(current),
      },
      signal,
    ),
  ];
  return {
    synced: Promise.all(feeds.map(({ synced }) => synced)).then(() => undefined),
    done: Promise.all(feeds.map(({ done }) => done)).then(() => undefined),
  };
}

/** Only for configurations whose answers depend on the addresses of pods: there may be very many. */
export function feedPods(pods: PodAddresses, objects: ObjectSource, signal: AbortSignal): Followed {
  return objects.follow(podResource, pods, signal);
}
