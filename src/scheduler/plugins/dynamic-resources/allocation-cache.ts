/**
 * What would be allocated on a node, remembered for the next claim of the same spec: pods of one
 * template ask every node the same question, and few nodes have changed since.
 */
import { type AllocatorInput, allocateDevices, type ChosenDevice } from "./allocator.ts";
import type { NodeDevices } from "./device-pools.ts";
import type { WantedDevices } from "./wanted-devices.ts";

export type Allocated = ReturnType<typeof allocateDevices>;

interface Remembered {
  readonly version: number;
  readonly chosen: readonly (readonly ChosenDevice[])[] | undefined;
}

export class AllocationCache {
  readonly #known = new WeakMap<WantedDevices["requests"], WeakMap<NodeDevices, Remembered>>();

  /** `version` changes with the use of the node's devices. */
  allocate(
    wanted: readonly WantedDevices[],
    devices: NodeDevices,
    version: number,
    rest: Omit<AllocatorInput, keyof NodeDevices>,
  ): Allocated {
    const [only] = wanted;
    if (only === undefined || wanted.length > 1) {
      return allocateDevices(wanted, { ...devices, ...rest });
    }
    let byNode = this.#known.get(only.requests);
    if (byNode === undefined) {
      byNode = new WeakMap();
      this.#known.set(only.requests, byNode);
    }
    const known = byNode.get(devices);
    if (known?.version === version) return known.chosen;
    const chosen = allocateDevices(wanted, { ...devices, ...rest });
    byNode.set(devices, { version, chosen });
    return chosen;
  }
}
