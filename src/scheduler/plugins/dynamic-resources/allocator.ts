/**
 * Chooses devices for the claims of one pod on one node: depth-first over claims, requests and
 * devices, undoing choices that lead nowhere. The time and the number of steps are bounded.
 */
import type { DeviceTaint, DeviceToleration } from "#api/generated/resource.v1.ts";
import {
  addQuantities,
  compareQuantities,
  type Quantity,
  quantityOf,
  subtractQuantities,
  ZERO_QUANTITY,
} from "#api/meta/quantity.ts";
import {
  type CapacityUse,
  ConsumedCapacities,
  capacityUse,
  fitsCapacity,
} from "./device-capacity.ts";
import { type ConstraintState, constraintState } from "./device-constraints.ts";
import type { NodeDevices, Pool, PooledDevice } from "./device-pools.ts";
import type { WantedDevices, WantedRequest } from "./wanted-devices.ts";

/** They take about as long as the event loop may be kept busy. */
const STEPS_MAX = 20_000;
/** After how many steps the clock is looked at. */
const CLOCK_STEPS = 256;
const NO_USE: CapacityUse = new Map();

export interface ChosenDevice {
  readonly request: WantedRequest;
  readonly device: PooledDevice;
  /** What is consumed of a device that several claims can share. */
  readonly share?: CapacityUse;
}

interface Choice extends ChosenDevice {
  readonly tookCounters: boolean;
}

/** Devices that other claims hold. */
export interface DevicesInUse {
  has(device: string): boolean;
  /** What they consume of a device that is shared; undefined if it has no shares. */
  consumed(device: string): CapacityUse | undefined;
}

export interface AllocatorInput extends NodeDevices {
  readonly inUse: DevicesInUse;
  matches(request: WantedRequest, device: PooledDevice): boolean;
  nowMs(): number;
  /** How long the search may take. */
  readonly timeoutMs: number;
}

/**
 * The devices of each claim, in the order of the claims; undefined if there is no solution,
 * "unfinished" if the search took too long to tell.
 */
export function allocateDevices(
  wanted: readonly WantedDevices[],
  input: AllocatorInput,
): readonly (readonly ChosenDevice[])[] | undefined | "unfinished" {
  return new Allocation(wanted, input).run();
}

/** One device to choose: which claim, which alternatives of which request, how many are left. */
interface Slot {
  readonly claim: number;
  readonly request: WantedRequest;
  readonly left: number;
  /** Where to go on among the request's candidates, so that no set of devices is tried twice. */
  readonly from: number;
}

class Allocation {
  readonly #wanted: readonly WantedDevices[];
  readonly #input: AllocatorInput;
  readonly #candidates = new Map<WantedRequest, readonly PooledDevice[]>();
  readonly #chosen: Choice[][];
  readonly #taken = new Set<string>();
  /** What the claims of this pod consume so far. */
  readonly #shares = new ConsumedCapacities();
  readonly #constraints: readonly (readonly ConstraintState[])[];
  readonly #counters = new Counters();
  readonly #deadlineMs: number;
  #steps = 0;
  #isUnfinished = false;

  constructor(wanted: readonly WantedDevices[], input: AllocatorInput) {
    this.#wanted = wanted;
    this.#input = input;
    this.#deadlineMs = input.nowMs() + input.timeoutMs;
    this.#chosen = wanted.map(() => []);
    this.#constraints = wanted.map(({ claim }) =>
      (claim.spec.devices.constraints ?? []).map(constraintState),
    );
    for (const pool of input.pools) this.#counters.addPool(pool, input.inUse);
  }

  run(): readonly (readonly ChosenDevice[])[] | undefined | "unfinished" {
    if (this.#isHopeless()) return undefined;
    if (this.#request(0, 0)) return this.#chosen;
    return this.#isUnfinished ? "unfinished" : undefined;
  }

  /** Whether a request asks for more devices than there are for it: nothing has to be tried then. */
  #isHopeless(): boolean {
    return this.#wanted.some(({ requests }) =>
      requests.some((alternatives) =>
        alternatives.every(
          (request) => !request.isAll && this.#candidatesOf(request).length < request.count,
        ),
      ),
    );
  }

  /** Devices that match the request and that no other claim holds. */
  #candidatesOf(request: WantedRequest): readonly PooledDevice[] {
    let found = this.#candidates.get(request);
    if (found === undefined) {
      const { inUse, devices } = this.#input;
      found = devices.filter(
        (device) =>
          (request.adminAccess || !inUse.has(device.id)) && this.#isCandidate(request, device),
      );
      this.#candidates.set(request, found);
    }
    return found;
  }

  /** Counts a step; false once there were too many, or the time is over. */
  #step(): boolean {
    this.#steps += 1;
    if (this.#steps > STEPS_MAX) this.#isUnfinished = true;
    else if (this.#steps % CLOCK_STEPS === 0 && this.#input.nowMs() >= this.#deadlineMs) {
      this.#isUnfinished = true;
    }
    return !this.#isUnfinished;
  }

  #request(claim: number, index: number): boolean {
    if (claim >= this.#wanted.length) return true;
    const alternatives = this.#wanted[claim]!.requests[index];
    if (alternatives === undefined) return this.#request(claim + 1, 0);
    const next = (): boolean => this.#request(claim, index + 1);
    return alternatives.some((request) =>
      request.isAll
        ? this.#allOf(claim, request, next)
        : this.#slot({ claim, request, left: request.count, from: 0 }, next),
    );
  }

  #slot(slot: Slot, next: () => boolean): boolean {
    const { claim, request, left } = slot;
    if (left === 0) return next();
    const candidates = this.#candidatesOf(request);
    for (let i = slot.from; i <= candidates.length - left; i++) {
      const device = candidates[i]!;
      if (!this.#step()) return false;
      if (!this.#take(claim, request, device)) continue;
      if (this.#slot({ claim, request, left: left - 1, from: i + 1 }, next)) return true;
      this.#giveBack(claim, request, device);
    }
    return false;
  }

  /** Every device that matches, or none. */
  #allOf(claim: number, request: WantedRequest, next: () => boolean): boolean {
    const devices = this.#input.devices.filter(
      (device) => this.#isCandidate(request, device) && this.#useOf(request, device) !== undefined,
    );
    // A pool that is not complete may have more.
    if (devices.length === 0 || this.#input.pools.some(({ isComplete }) => !isComplete))
      return false;
    const taken: PooledDevice[] = [];
    const isDone =
      devices.every((device) => {
        const isTaken = this.#take(claim, request, device);
        if (isTaken) taken.push(device);
        return isTaken;
      }) && next();
    if (!isDone) for (const device of taken.toReversed()) this.#giveBack(claim, request, device);
    return isDone;
  }

  #isCandidate(request: WantedRequest, pooled: PooledDevice): boolean {
    return this.#input.matches(request, pooled);
  }

  /** What the request consumes of the device; undefined if there is not so much left. */
  #useOf({ capacity }: WantedRequest, { device, id }: PooledDevice): CapacityUse | undefined {
    const isShared = device.allowMultipleAllocations === true;
    if (!isShared && Object.keys(capacity).length === 0) return NO_USE;
    const use = capacityUse(capacity, device);
    if (use === undefined) return undefined;
    const others = isShared ? [this.#input.inUse.consumed(id), this.#shares.get(id)] : [];
    return fitsCapacity(device, [use, ...others]) ? use : undefined;
  }

  #take(claim: number, request: WantedRequest, pooled: PooledDevice): boolean {
    const { id, device } = pooled;
    const key = request.adminAccess ? `${claim}#${id}` : id;
    const isShared = device.allowMultipleAllocations === true;
    if (!isShared && this.#taken.has(key)) return false;
    if (!request.adminAccess && this.#input.inUse.has(id)) return false;
    if (isRepelled(device.taints ?? [], request.tolerations)) return false;
    const use = this.#useOf(request, pooled);
    if (use === undefined) return false;
    const { name, parent } = request;
    const constraints = this.#constraints[claim]!;
    const refused = constraints.findIndex((constraint) => !constraint.add(name, parent, pooled));
    // The first share of a device takes its counters for all.
    const takesCounters = !isShared || !this.#hasShares(id);
    const isFree = refused < 0 && (!takesCounters || this.#counters.take(pooled));
    if (!isFree) {
      const added = refused < 0 ? constraints : constraints.slice(0, refused);
      for (const constraint of added) constraint.remove(name, parent, pooled);
      return false;
    }
    if (isShared) this.#shares.add(id, use);
    else this.#taken.add(key);
    const share = isShared ? { share: use } : {};
    this.#chosen[claim]!.push({ request, device: pooled, tookCounters: takesCounters, ...share });
    return true;
  }

  #hasShares(id: string): boolean {
    return this.#input.inUse.consumed(id) !== undefined || this.#shares.get(id) !== undefined;
  }

  #giveBack(claim: number, request: WantedRequest, pooled: PooledDevice): void {
    const { share, tookCounters } = this.#chosen[claim]!.pop()!;
    if (share !== undefined) this.#shares.remove(pooled.id, share);
    else this.#taken.delete(request.adminAccess ? `${claim}#${pooled.id}` : pooled.id);
    if (tookCounters) this.#counters.giveBack(pooled);
    for (const constraint of this.#constraints[claim]!) {
      constraint.remove(request.name, request.parent, pooled);
    }
  }
}

/** Counters that partitions of one device share. */
class Counters {
  readonly #free = new Map<string, Quantity>();

  addPool(pool: Pool, inUse: DevicesInUse): void {
    if (pool.counterSets.length === 0) return;
    for (const { name, counters = {} } of pool.counterSets) {
      for (const [counter, { value }] of Object.entries(counters)) {
        this.#free.set(keyOf(pool, name, counter), quantityOf(value));
      }
    }
    for (const device of pool.devices) {
      const { id } = device;
      if (inUse.has(id) || inUse.consumed(id) !== undefined) this.#add(device, -1);
    }
  }

  take(device: PooledDevice): boolean {
    const needs = needsOf(device);
    const isEnough = needs.every(
      ([key, value]) => compareQuantities(this.#free.get(key) ?? ZERO_QUANTITY, value) >= 0,
    );
    if (isEnough) this.#add(device, -1);
    return isEnough;
  }

  giveBack(device: PooledDevice): void {
    this.#add(device, 1);
  }

  #add(device: PooledDevice, sign: 1 | -1): void {
    for (const [key, value] of needsOf(device)) {
      const free = this.#free.get(key) ?? ZERO_QUANTITY;
      this.#free.set(
        key,
        sign === 1 ? addQuantities(free, value) : subtractQuantities(free, value),
      );
    }
  }
}

const NO_NEEDS: readonly (readonly [string, Quantity])[] = [];

function needsOf({ device, pool }: PooledDevice): readonly (readonly [string, Quantity])[] {
  if (device.consumesCounters === undefined) return NO_NEEDS;
  return device.consumesCounters.flatMap(({ counterSet, counters = {} }) =>
    Object.entries(counters).map(
      ([name, { value }]) => [keyOf(pool, counterSet, name), quantityOf(value)] as const,
    ),
  );
}

function keyOf({ driver, name }: Pool, counterSet: string, counter: string): string {
  return `${driver}/${name}/${counterSet}/${counter}`;
}

function isRepelled(
  taints: readonly DeviceTaint[],
  tolerations: readonly DeviceToleration[],
): boolean {
  return taints.some(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") &&
      !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
}

function tolerates(toleration: DeviceToleration, taint: DeviceTaint): boolean {
  const { key = "", operator = "Equal", value = "", effect } = toleration;
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return operator === "Exists" || value === (taint.value ?? "");
}
