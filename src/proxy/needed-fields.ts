/**
 * Services and EndpointSlices with nothing but what rules are made of. A proxy over the network keeps
 * these: whole objects (managedFields, selectors, targetRefs) take three times the memory.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointConditions, EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { PROXY_NAME_LABEL } from "./rules/decide-service-rules.ts";
import { SERVICE_NAME_LABEL } from "./service-table.ts";
import { TRIGGER_TIME_ANNOTATION } from "./trigger-times.ts";

export function neededOfService({ metadata, spec, status }: Service): Service {
  const { selector: _, ...rest } = spec;
  const ingress = status?.loadBalancer?.ingress;
  return {
    metadata: neededMetadata(metadata, [PROXY_NAME_LABEL]),
    spec: rest,
    status: ingress === undefined ? NO_STATUS : { loadBalancer: { ingress } },
  };
}

const NO_STATUS: Service["status"] = { loadBalancer: {} };

/** Trims EndpointSlices. Equal conditions and names of nodes are shared between endpoints. */
export function createSliceTrim(): (slice: EndpointSlice) => EndpointSlice {
  const shareConditions = createPool<EndpointConditions>();
  const shareName = createPool<string>();
  return ({ metadata, addressType, ports, endpoints }) => ({
    metadata: neededMetadata(metadata, [SERVICE_NAME_LABEL, TRIGGER_TIME_ANNOTATION]),
    addressType,
    ports,
    endpoints: (endpoints ?? []).map(({ addresses, conditions, nodeName, hints }) => ({
      addresses,
      conditions: shareConditions(JSON.stringify(conditions ?? {}), conditions ?? {}),
      ...(nodeName === undefined ? {} : { nodeName: shareName(nodeName, nodeName) }),
      ...(hints === undefined ? {} : { hints }),
    })),
  });
}

/** Labels and annotations of these names, and what identifies an object and its revision. */
function neededMetadata(metadata: ObjectMeta, names: readonly string[]): ObjectMeta {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata;
  const labels = pick(metadata.labels, names);
  const annotations = pick(metadata.annotations, names);
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function pick(
  from: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Record<string, string> | undefined {
  const found = names.flatMap((name) => (from?.[name] === undefined ? [] : [[name, from[name]]]));
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

const POOL_SIZE_MAX = 10_000;

/** The first value of each key, up to a limit of keys. */
function createPool<T>(): (key: string, value: T) => T {
  const pool = new Map<string, T>();
  return (key, value) => {
    const known = pool.get(key);
    if (known !== undefined) return known;
    if (pool.size < POOL_SIZE_MAX) pool.set(key, value);
    return value;
  };
}
