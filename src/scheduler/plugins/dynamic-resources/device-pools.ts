/** The devices that drivers offer, grouped by pool, and which of them a node can use. */
import type { Node, NodeSelector } from "#api/generated/core.v1.ts";
import type { CounterSet, Device, ResourceSlice } from "#api/generated/resource.v1.ts";
import { matchesNodeSelectorTerm } from "#api/kinds/core/v1/node/node-selection.ts";
import type { WatchedCache } from "#scheduler/snapshot/cluster-objects.ts";

export interface PooledDevice {
  /** Unique in the cluster. */
  readonly id: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  readonly pool: Pool;
}

export interface Pool {
  /** Unique in the cluster. */
  readonly key: string;
  readonly driver: string;
  readonly name: string;
  readonly devices: readonly PooledDevice[];
  readonly counterSets: readonly CounterSet[];
  /** Some slices of the newest generation are missing: nothing may be allocated yet. */
  readonly isComplete: boolean;
  /** The node whose devices these are, if all of them are one node's. */
  readonly onlyNode: string | undefined;
}

export function poolKey(driver: string, pool: string): string {
  return `${driver}/${pool}`;
}

export function deviceId(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`;
}

/** The devices that may be allocated on one node. */
export interface NodeDevices {
  readonly pools: readonly Pool[];
  /** Usable on the node, from complete pools. */
  readonly devices: readonly PooledDevice[];
  /** Made for one question: the node shares pools with others. */
  readonly isTemporary: boolean;
}

/** The devices by the nodes that can use them, kept while no slice changes. */
export class PoolIndex {
  readonly #slices: WatchedCache<ResourceSlice>;
  #ofNode = new Map<string, NodeDevices>();
  /** Pools that more than one node may use. */
  #others: readonly Pool[] = [];
  #isCurrent = false;

  /** `onChange` is called before the devices of nodes become other objects. */
  constructor(slices: WatchedCache<ResourceSlice>, onChange: () => void) {
    this.#slices = slices;
    slices.on(() => {
      this.#isCurrent = false;
      onChange();
    });
  }

  /** The same object for as long as no slice changes, unless nodes share pools. */
  forNode(node: Node): NodeDevices {
    if (!this.#isCurrent) this.#rebuild();
    const own = this.#ofNode.get(node.metadata.name ?? "") ?? NO_DEVICES;
    if (this.#others.length === 0) return own;
    const shared = usableDevices(this.#others).filter((device) => isUsableOn(device, node));
    return {
      pools: [...own.pools, ...this.#others],
      devices: [...own.devices, ...shared],
      isTemporary: true,
    };
  }

  #rebuild(): void {
    this.#isCurrent = true;
    const byNode = new Map<string, Pool[]>();
    const others: Pool[] = [];
    for (const pool of poolsOf(this.#slices.list())) {
      if (pool.onlyNode === undefined) others.push(pool);
      else {
        const pools = byNode.get(pool.onlyNode) ?? [];
        pools.push(pool);
        byNode.set(pool.onlyNode, pools);
      }
    }
    this.#others = others;
    this.#ofNode = new Map(
      [...byNode].map(([name, pools]) => [
        name,
        { pools, devices: usableDevices(pools), isTemporary: false },
      ]),
    );
  }
}

const NO_DEVICES: NodeDevices = { pools: [], devices: [], isTemporary: false };

function usableDevices(pools: readonly Pool[]): PooledDevice[] {
  return pools.flatMap(({ isComplete, devices }) => (isComplete ? devices : []));
}

/** Slices of old generations of a pool are left out. */
function poolsOf(slices: Iterable<ResourceSlice>): readonly Pool[] {
  const groups = new Map<string, ResourceSlice[]>();
  for (const slice of slices) {
    const key = poolKey(slice.spec.driver, slice.spec.pool.name);
    const group = groups.get(key) ?? [];
    const newest = group[0]?.spec.pool.generation ?? -1;
    const { generation } = slice.spec.pool;
    if (generation < newest) continue;
    if (generation > newest) groups.set(key, [slice]);
    else {
      group.push(slice);
      groups.set(key, group);
    }
  }
  return [...groups.values()].map(poolFrom);
}

function poolFrom(slices: readonly ResourceSlice[]): Pool {
  const { driver, pool } = slices[0]!.spec;
  const devices: PooledDevice[] = [];
  const made: Pool = {
    key: poolKey(driver, pool.name),
    driver,
    name: pool.name,
    devices,
    counterSets: slices.flatMap(({ spec }) => spec.sharedCounters ?? []),
    isComplete: slices.length === pool.resourceSliceCount,
    onlyNode: onlyNodeOf(slices),
  };
  const ordered = slices.toSorted((a, b) =>
    (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1,
  );
  for (const slice of ordered) {
    for (const device of slice.spec.devices ?? []) {
      const id = deviceId(driver, pool.name, device.name);
      devices.push({ id, device, slice, pool: made });
    }
  }
  return made;
}

function onlyNodeOf(slices: readonly ResourceSlice[]): string | undefined {
  const [first] = slices;
  const name = first?.spec.nodeName;
  const isShared = slices.some(
    ({ spec }) => spec.nodeName !== name || spec.perDeviceNodeSelection === true,
  );
  return name === undefined || name === "" || isShared ? undefined : name;
}

export function isUsableOn(
  { device, slice }: Pick<PooledDevice, "device" | "slice">,
  node: Node,
): boolean {
  const { spec } = slice;
  const scope = spec.perDeviceNodeSelection === true ? device : spec;
  if (scope.allNodes === true) return true;
  if (scope.nodeName !== undefined && scope.nodeName !== "") {
    return scope.nodeName === node.metadata.name;
  }
  return scope.nodeSelector !== undefined && selectsNode(scope.nodeSelector, node);
}

export function selectsNode({ nodeSelectorTerms }: NodeSelector, node: Node): boolean {
  return (nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, node));
}
