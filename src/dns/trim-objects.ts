/**
 * Objects reduced to what the zone needs of them, for a server that has its informers for itself. Whole
 * objects take several times the memory.
 */
import type { Namespace, Pod, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { SERVICE_LABEL } from "./zone/service-entry.ts";

export function trimNamespace({ metadata }: Namespace): Namespace {
  return { metadata: neededMetadata(metadata), spec: {}, status: {} };
}

export function trimService({ metadata, spec }: Service): Service {
  const { type, externalName, clusterIP, clusterIPs, ports } = spec;
  return {
    metadata: neededMetadata(metadata),
    spec: {
      ...(type === undefined ? {} : { type }),
      ...(externalName === undefined ? {} : { externalName }),
      ...(clusterIPs !== undefined ? { clusterIPs } : clusterIP === undefined ? {} : { clusterIP }),
      ...(ports === undefined ? {} : { ports }),
    },
    status: { loadBalancer: {} },
  };
}

export function trimSlice(slice: EndpointSlice): EndpointSlice {
  const { metadata, addressType, ports } = slice;
  const service = metadata.labels?.[SERVICE_LABEL];
  return {
    metadata: {
      ...neededMetadata(metadata),
      ...(service === undefined ? {} : { labels: { [SERVICE_LABEL]: service } }),
    },
    ...{ addressType, ports },
    endpoints: (slice.endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .map(({ addresses, hostname }) => ({
        ...{ addresses, conditions: READY },
        ...(hostname === undefined ? {} : { hostname }),
      })),
  };
}

export function trimPod({ metadata, spec, status }: Pod): Pod {
  const { hostNetwork } = spec;
  const { phase, podIPs } = status;
  return {
    metadata: neededMetadata(metadata),
    spec: { containers: [], ...(hostNetwork === undefined ? {} : { hostNetwork }) },
    status: {
      ...(phase === undefined ? {} : { phase }),
      ...(podIPs === undefined ? {} : { podIPs }),
    },
  };
}

const READY = { ready: true };

/** What a cache must have. */
function neededMetadata(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, resourceVersion, deletionTimestamp } = metadata;
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
}
