/** Topology hints of device plug-ins, and the order in which devices fit a hint. */
import { hasNode, masksOf, type NumaMask, sizeOf } from "./numa-mask.ts";
import type { TopologyHint } from "./topology-hints.ts";

/** The NUMA nodes of each device of a resource; none: the device has no preference. */
export type DeviceNodes = ReadonlyMap<string, readonly number[]>;

export function hasTopology(devices: DeviceNodes): boolean {
  return [...devices.values()].some((nodes) => nodes.length > 0);
}

export function deviceHints(
  devices: DeviceNodes,
  machineNodes: readonly number[],
  available: readonly string[],
  reusable: readonly string[],
  count: number,
): readonly TopologyHint[] {
  const used = new Set([...devices.values()].flat());
  const withDevices = machineNodes.filter((node) => used.has(node));
  const nodes = withDevices.length > 0 ? withDevices : machineNodes;
  const isIn = (mask: NumaMask, id: string): boolean =>
    (devices.get(id) ?? []).some((node) => hasNode(mask, node));
  const masks = masksOf(nodes);
  const all = [...devices.keys()];
  const fitting = masks
    .filter((mask) => all.filter((id) => isIn(mask, id)).length >= count)
    .map(sizeOf);
  const smallest = Math.min(nodes.length, ...fitting);
  const placed = reusable.filter((id) => (devices.get(id) ?? []).length > 0);
  return masks
    .filter((mask) => placed.every((id) => isIn(mask, id)))
    .filter((mask) => placed.length + available.filter((id) => isIn(mask, id)).length >= count)
    .map((affinity) => ({ affinity, preferred: sizeOf(affinity) === smallest }));
}

/** Devices on the nodes of the hint first, then those on other nodes, then those on none. */
export function byAffinity(
  devices: DeviceNodes,
  ids: readonly string[],
  affinity: NumaMask | undefined,
): readonly string[] {
  if (affinity === undefined || !hasTopology(devices)) return ids;
  const rank = (id: string): number => {
    const nodes = devices.get(id) ?? [];
    if (nodes.length === 0) return 2;
    return nodes.some((node) => hasNode(affinity, node)) ? 0 : 1;
  };
  return [...ids].sort((a, b) => rank(a) - rank(b));
}
