/**
 * How many devices of a class a node can use and how many of them are allocated, for scores.
 *
 * As upstream does, it counts the devices of every slice: pools that are incomplete and slices of an
 * older generation, which are never allocated from, count too.
 */
import type { Node } from "#api/generated/core.v1.ts";
import type { DeviceClass, ResourceSlice } from "#api/generated/resource.v1.ts";
import type { WatchedCache } from "#scheduler/snapshot/cluster-objects.ts";
import type { DevicesInUse } from "./allocator.ts";
import { deviceId, isUsableOn } from "./device-pools.ts";
import type { SelectorCache } from "./selector-cache.ts";
import { expressionsOf } from "./wanted-devices.ts";

export interface DeviceTotal {
  readonly capacity: number;
  readonly allocated: number;
}

interface ClassDevices {
  readonly deviceClass: DeviceClass;
  readonly ids: readonly string[];
}

export class DeviceTotals {
  readonly #slices: WatchedCache<ResourceSlice>;
  readonly #inUse: DevicesInUse;
  readonly #selectors: SelectorCache;
  /** Devices by the name of their class, for nodes as they are; forgotten when a slice changes. */
  #known = new WeakMap<Node, Map<string, ClassDevices>>();
  #byNode: Map<string, ResourceSlice[]> | undefined;
  /** Slices that more than one node may use. */
  #shared: ResourceSlice[] = [];

  constructor(slices: WatchedCache<ResourceSlice>, inUse: DevicesInUse, selectors: SelectorCache) {
    this.#slices = slices;
    this.#inUse = inUse;
    this.#selectors = selectors;
    slices.on(() => {
      this.#byNode = undefined;
      this.#known = new WeakMap();
    });
  }

  of(deviceClass: DeviceClass, node: Node): DeviceTotal {
    const ids = this.#idsOf(deviceClass, node);
    let allocated = 0;
    for (const id of ids) {
      if (this.#inUse.has(id) || this.#inUse.consumed(id) !== undefined) allocated += 1;
    }
    return { capacity: ids.length, allocated };
  }

  #idsOf(deviceClass: DeviceClass, node: Node): readonly string[] {
    let classes = this.#known.get(node);
    if (classes === undefined) {
      classes = new Map();
      this.#known.set(node, classes);
    }
    const { name = "" } = deviceClass.metadata;
    const known = classes.get(name);
    if (known?.deviceClass === deviceClass) return known.ids;
    const ids = this.#find(deviceClass, node);
    classes.set(name, { deviceClass, ids });
    return ids;
  }

  /** None if a selector cannot be evaluated: the resource is left out of the score. */
  #find({ spec }: DeviceClass, node: Node): readonly string[] {
    const wanted = { expressions: expressionsOf(spec.selectors ?? []) };
    const ids: string[] = [];
    try {
      for (const slice of this.#slicesFor(node)) {
        const { driver, pool, devices = [] } = slice.spec;
        for (const device of devices) {
          if (!isUsableOn({ device, slice }, node)) continue;
          if (!this.#selectors.matches(wanted, { device, pool: { driver } })) continue;
          ids.push(deviceId(driver, pool.name, device.name));
        }
      }
    } catch {
      return [];
    }
    return ids;
  }

  #slicesFor(node: Node): readonly ResourceSlice[] {
    this.#byNode ??= this.#index();
    return [...(this.#byNode.get(node.metadata.name ?? "") ?? []), ...this.#shared];
  }

  #index(): Map<string, ResourceSlice[]> {
    const byNode = new Map<string, ResourceSlice[]>();
    this.#shared = [];
    for (const slice of this.#slices.list()) {
      const { nodeName = "", perDeviceNodeSelection } = slice.spec;
      if (nodeName === "" || perDeviceNodeSelection === true) {
        this.#shared.push(slice);
        continue;
      }
      const own = byNode.get(nodeName);
      if (own === undefined) byNode.set(nodeName, [slice]);
      else own.push(slice);
    }
    return byNode;
  }
}
