/**
 * Spreads endpoints over slices with as few changes as possible, since every change of a slice goes
 * to every node. Endpoints stay in the slice they are in; slices that change anyway are filled up
 * first; what is left goes together into one that has room for all of it, or into new ones.
 */
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { semanticEqual } from "#api/validation/immutable.ts";

export interface SlicePlan {
  /** Each with its new endpoints; the same object if nothing in it changes. */
  readonly kept: readonly Filled[];
  readonly created: readonly (readonly Endpoint[])[];
  readonly deleted: readonly EndpointSlice[];
}

export interface Filled {
  readonly slice: EndpointSlice;
  readonly endpoints: readonly Endpoint[];
}

export function planSlices(
  existing: readonly EndpointSlice[],
  desired: readonly Endpoint[],
  endpointsMax: number,
  /** Slices that have to be written in any case. */
  isStale: (slice: EndpointSlice) => boolean,
): SlicePlan {
  const left = new Map(desired.map((endpoint) => [endpointId(endpoint), endpoint]));
  const kept: { slice: EndpointSlice; endpoints: Endpoint[]; changes: boolean }[] = [];
  const deleted: EndpointSlice[] = [];
  for (const slice of existing) {
    const endpoints: Endpoint[] = [];
    let changes = isStale(slice);
    for (const old of slice.endpoints ?? []) {
      const id = endpointId(old);
      const next = left.get(id);
      left.delete(id);
      if (next !== undefined) endpoints.push(next);
      changes ||= next === undefined || !isSameEndpoint(old, next);
    }
    if (endpoints.length === 0 && (slice.endpoints ?? []).length > 0) deleted.push(slice);
    else kept.push({ slice, endpoints, changes });
  }
  const queue = [...left.values()];
  const changing = kept
    .filter(({ changes }) => changes)
    .sort((a, b) => b.endpoints.length - a.endpoints.length);
  for (const { endpoints } of changing) {
    endpoints.push(...queue.splice(0, Math.max(0, endpointsMax - endpoints.length)));
  }
  const created: Endpoint[][] = [];
  while (queue.length > endpointsMax) created.push(queue.splice(0, endpointsMax));
  if (queue.length > 0) {
    const roomy = kept
      .filter((k) => !k.changes && k.endpoints.length + queue.length <= endpointsMax)
      .sort((a, b) => b.endpoints.length - a.endpoints.length)[0];
    if (roomy === undefined) created.push(queue);
    else roomy.endpoints.push(...queue);
  }
  return { kept, created, deleted };
}

/** Ports in any order are the same ports. */
export function portsId(ports: readonly EndpointPort[] | null | undefined): string {
  const ids = (ports ?? []).map(({ name = "", port, protocol, appProtocol }) =>
    JSON.stringify([name, port ?? null, protocol ?? "", appProtocol ?? ""]),
  );
  return ids.sort().join();
}

function endpointId({ addresses, hostname = "", targetRef }: Endpoint): string {
  const { namespace = "", name = "", uid = "" } = targetRef ?? {};
  return JSON.stringify([addresses ?? [], hostname, namespace, name, uid]);
}

/** Hints are decided on later, and references may name any revision of the pod. */
export function isSameEndpoint(a: Endpoint, b: Endpoint): boolean {
  return semanticEqual(comparable(a), comparable(b));
}

function comparable({ hints: _, targetRef, ...endpoint }: Endpoint): unknown {
  const { resourceVersion: __, ...reference } = targetRef ?? {};
  return { ...endpoint, reference };
}
