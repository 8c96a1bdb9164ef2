/**
 * What would be allocated on a node, remembered for the next claim of the same spec: pods of one
 * template ask every node the same question, and few nodes have changed since.
 *
 * At most `SPECS_MAX` specs are remembered; beyond that everything is forgotten.
 */
import { type AllocatorInput, allocateDevices } from "./allocator.ts";
import type { PoolUse } from "./claim-allocations.ts";
import type { NodeDevices } from "./device-pools.ts";
import type { WantedDevices } from "./wanted-devices.ts";

const SPECS_MAX = 64;

export type Allocated = ReturnType<typeof allocateDevices>;

interface Remembered {
  readonly uses: readonly PoolUse[];
  /** The sum of the versions of `uses` when this was found out. */
  readonly version: number;
  readonly chosen: Allocated;
}

/** What is known of nodes for claims of one spec. */
export type KnownAllocations = Map<NodeDevices, Remembered>;

export class AllocationCache {
  readonly #known = new Map<WantedDevices["requests"], KnownAllocations>();
  readonly #usesOf: (devices: NodeDevices) => readonly PoolUse[];
  readonly #rest: Omit<AllocatorInput, keyof NodeDevices>;

  constructor(
    usesOf: (devices: NodeDevices) => readonly PoolUse[],
    rest: Omit<AllocatorInput, keyof NodeDevices>,
  ) {
    this.#usesOf = usesOf;
    this.#rest = rest;
  }

  /** The devices of nodes are other objects now. */
  clear(): void {
    this.#known.clear();
  }

  /** Undefined if nothing is remembered for claims like these. */
  knownFor(wanted: readonly WantedDevices[]): KnownAllocations | undefined {
    const [only] = wanted;
    if (only === undefined || wanted.length > 1) return undefined;
    let known = this.#known.get(only.requests);
    if (known === undefined) {
      if (this.#known.size >= SPECS_MAX) this.#known.clear();
      known = new Map();
      this.#known.set(only.requests, known);
    }
    return known;
  }

  allocate(
    wanted: readonly WantedDevices[],
    devices: NodeDevices,
    known: KnownAllocations | undefined,
  ): Allocated {
    if (known === undefined || devices.isTemporary) return this.#allocate(wanted, devices);
    const last = known.get(devices);
    if (last !== undefined && last.version === versionOf(last.uses)) return last.chosen;
    const uses = last?.uses ?? this.#usesOf(devices);
    const chosen = this.#allocate(wanted, devices);
    if (chosen !== "unfinished") known.set(devices, { uses, version: versionOf(uses), chosen });
    return chosen;
  }

  #allocate(wanted: readonly WantedDevices[], devices: NodeDevices): Allocated {
    return allocateDevices(wanted, { ...devices, ...this.#rest });
  }
}

function versionOf(uses: readonly PoolUse[]): number {
  let version = 0;
  for (const use of uses) version += use.version;
  return version;
}
