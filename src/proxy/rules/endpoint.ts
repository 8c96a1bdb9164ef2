/** The endpoints of a Service's ports, gathered from its EndpointSlices. */
import type { EndpointSlice, Endpoint as SliceEndpoint } from "#api/generated/discovery.v1.ts";
import { addressesOf, type IpFamily } from "#api/meta/ip-family.ts";

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
  readonly isLocal: boolean;
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  readonly zoneHints: readonly string[];
  readonly nodeHints: readonly string[];
}

const NONE: readonly string[] = [];

/** Key of `endpointsByPort`: the port's name and protocol. */
export function portKey(name: string | undefined, protocol: string | undefined): string {
  return `${name ?? ""}/${(protocol ?? "TCP").toLowerCase()}`;
}

/**
 * Endpoints by port, in order of address and port. An address that two slices name, as happens while
 * a controller moves it, counts once: the ready one wins.
 */
export function endpointsByPort(
  slices: Iterable<EndpointSlice>,
  family: IpFamily,
  nodeName: string,
): ReadonlyMap<string, readonly Endpoint[]> {
  const found = new Map<string, Map<string, Endpoint>>();
  for (const slice of slices) {
    if (slice.addressType !== family) continue;
    for (const { name, protocol, port } of slice.ports ?? []) {
      if (port === undefined) continue;
      const key = portKey(name, protocol);
      const known = found.get(key) ?? new Map<string, Endpoint>();
      found.set(key, known);
      for (const item of slice.endpoints ?? []) {
        const endpoint = endpointOf(item, port, family, nodeName);
        if (endpoint === undefined) continue;
        const id = idOf(endpoint);
        if (known.get(id)?.isReady !== true) known.set(id, endpoint);
      }
    }
  }
  return new Map([...found].map(([key, known]) => [key, [...known.values()].sort(byId)]));
}

function endpointOf(
  { addresses, conditions, nodeName: node, hints }: SliceEndpoint,
  port: number,
  family: IpFamily,
  nodeName: string,
): Endpoint | undefined {
  const [given] = addresses ?? [];
  const [canonical] = given === undefined ? [] : addressesOf(family, [given]);
  if (canonical === undefined) return undefined;
  const ip = canonical === given ? given : canonical; // one copy of the text
  return {
    ip,
    port,
    isLocal: node === nodeName,
    isReady: conditions?.ready !== false,
    isServing: conditions?.serving !== false,
    isTerminating: conditions?.terminating === true,
    zoneHints: hints?.forZones?.map(({ name }) => name) ?? NONE,
    nodeHints: hints?.forNodes?.map(({ name }) => name) ?? NONE,
  };
}

function idOf({ ip, port }: Endpoint): string {
  return `${ip} ${port}`;
}

function byId(a: Endpoint, b: Endpoint): number {
  const [left, right] = [idOf(a), idOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
