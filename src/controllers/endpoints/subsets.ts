/**
 * The subsets of an Endpoints object in one canonical form: each set of addresses stands once, with
 * all the ports that it serves. At most a thousand addresses are kept, ready ones first.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset } from "#api/generated/core.v1.ts";

const ADDRESSES_MAX = 1000;

interface Entry {
  readonly address: EndpointAddress;
  readonly isReady: boolean;
}

/** Addresses that serve the same ports come together; not ready wins over ready. */
export function packSubsets(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  const byPort = new Map<string, { port?: EndpointPort; entries: Map<string, Entry> }>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const port of ports.length === 0 ? [undefined] : ports) {
      const id = JSON.stringify(port === undefined ? [] : portId(port));
      const group = byPort.get(id) ?? { ...(port && { port }), entries: new Map<string, Entry>() };
      byPort.set(id, group);
      for (const address of addresses) {
        const key = addressId(address);
        if (!group.entries.has(key)) group.entries.set(key, { address, isReady: true });
      }
      for (const address of notReadyAddresses) {
        group.entries.set(addressId(address), { address, isReady: false });
      }
    }
  }
  const byAddresses = new Map<string, { entries: readonly Entry[]; ports: EndpointPort[] }>();
  for (const { port, entries } of byPort.values()) {
    const sorted = [...entries.values()].sort(byAddress);
    const id = JSON.stringify(sorted.map(({ address, isReady }) => [addressId(address), isReady]));
    const group = byAddresses.get(id) ?? { entries: sorted, ports: [] };
    byAddresses.set(id, group);
    if (port !== undefined) group.ports.push(port);
  }
  return [...byAddresses.values()]
    .map(({ entries, ports }) => subsetOf(entries, [...ports].sort(byPortId)))
    .sort((a, b) => compare(JSON.stringify(a), JSON.stringify(b)));
}

export function addressCount(subsets: readonly EndpointSubset[]): number {
  return subsets.reduce(
    (sum, { addresses = [], notReadyAddresses = [] }) =>
      sum + addresses.length + notReadyAddresses.length,
    0,
  );
}

/** Takes away what is too much, from each subset in proportion. */
export function truncated(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] {
  if (addressCount(subsets) <= ADDRESSES_MAX) return subsets;
  const total = (list: "addresses" | "notReadyAddresses"): number =>
    subsets.reduce((sum, subset) => sum + (subset[list] ?? []).length, 0);
  const ready = total("addresses");
  const cut = ready > ADDRESSES_MAX ? "addresses" : "notReadyAddresses";
  const capacity = cut === "addresses" ? ADDRESSES_MAX : ADDRESSES_MAX - ready;
  let left = capacity;
  return subsets.map((subset) => {
    const list = subset[cut] ?? [];
    const kept = list.slice(0, Math.min(left, Math.ceil((list.length / total(cut)) * capacity)));
    left -= kept.length;
    const { addresses, notReadyAddresses, ...rest } = subset;
    if (cut === "addresses") return { ...withList("addresses", kept), ...rest };
    return { ...withList("addresses", addresses), ...withList("notReadyAddresses", kept), ...rest };
  });
}

function subsetOf(entries: readonly Entry[], ports: readonly EndpointPort[]): EndpointSubset {
  const listed = (isReady: boolean): readonly EndpointAddress[] =>
    entries.filter((entry) => entry.isReady === isReady).map(({ address }) => address);
  return {
    ...withList("addresses", listed(true)),
    ...withList("notReadyAddresses", listed(false)),
    ...withList("ports", ports),
  };
}

function withList<Name extends string, T>(
  name: Name,
  list: readonly T[] | undefined,
): { readonly [key in Name]?: readonly T[] } {
  if (list === undefined || list.length === 0) return {};
  return { [name]: list } as { readonly [key in Name]?: readonly T[] };
}

function portId({ name = "", port, protocol = "", appProtocol = "" }: EndpointPort) {
  return [name, port, protocol, appProtocol] as const;
}

function byPortId(a: EndpointPort, b: EndpointPort): number {
  return compare(JSON.stringify(portId(a)), JSON.stringify(portId(b)));
}

/** Pods on the host's network share its address, so the pod belongs to the identity. */
function addressId({ ip, targetRef }: EndpointAddress): string {
  return `${ip} ${targetRef?.uid ?? ""}`;
}

function byAddress(a: Entry, b: Entry): number {
  return compare(addressId(a.address), addressId(b.address));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
