/**
 * Allocations that were decided and are on their way to the API server: their devices are in use.
 * `bind` writes them into the claims and reserves the claims for the pod.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import type {
  AllocationResult,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from "#api/generated/resource.v1.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { quantityOf } from "#api/meta/quantity.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Handle } from "#scheduler/plugin.ts";
import type { DevicesInUse } from "./allocator.ts";
import { type CapacityUse, ConsumedCapacities } from "./device-capacity.ts";
import { deviceId, type Pool, poolKey } from "./device-pools.ts";
import { isReservedFor } from "./pod-resource-claims.ts";

const FINALIZER = "resource.kubernetes.io/delete-protection";
const TRIES_MAX = 5;

/** How often the use of a pool's devices has changed. */
export interface PoolUse {
  readonly version: number;
}

export class ClaimAllocations implements DevicesInUse {
  readonly #handle: Handle;
  /** By the uid of the claim. */
  readonly #pending = new Map<string, AllocationResult>();
  /** How many allocations hold each device: those in the cache and those that are pending. */
  readonly #holders = new Map<string, number>();
  /** What allocations consume of devices that are shared. */
  readonly #consumed = new ConsumedCapacities();
  readonly #poolUses = new Map<string, { version: number }>();

  constructor(handle: Handle) {
    this.#handle = handle;
    const { resourceClaims } = handle.objects;
    for (const claim of resourceClaims.list()) this.#count(claim.status?.allocation, 1);
    resourceClaims.on(({ next, old }) => {
      this.#count(old?.status?.allocation, -1);
      this.#count(next?.status?.allocation, 1);
    });
  }

  /** Whether a device is allocated or about to be. */
  has(device: string): boolean {
    return this.#holders.has(device);
  }

  consumed(device: string): CapacityUse | undefined {
    return this.#consumed.get(device);
  }

  /** One for each pool; its version changes whenever a device of the pool is taken or freed. */
  usesOf(pools: readonly Pool[]): readonly PoolUse[] {
    return pools.map(({ key }) => this.#useOf(key));
  }

  #useOf(pool: string): { version: number } {
    let use = this.#poolUses.get(pool);
    if (use === undefined) {
      use = { version: 0 };
      this.#poolUses.set(pool, use);
    }
    return use;
  }

  #count(allocation: AllocationResult | undefined, sign: 1 | -1): void {
    if (allocation === undefined) return;
    for (const { driver, pool } of allocation.devices.results ?? []) {
      this.#useOf(poolKey(driver, pool)).version += 1;
    }
    for (const result of allocation.devices.results ?? []) {
      if (result.adminAccess === true) continue; // the device stays free for others
      const id = deviceId(result.driver, result.pool, result.device);
      if (result.shareID === undefined) this.#hold(id, sign);
      else if (sign === 1) this.#consumed.add(id, useOf(result));
      else this.#consumed.remove(id, useOf(result));
    }
  }

  #hold(id: string, sign: 1 | -1): void {
    const holders = (this.#holders.get(id) ?? 0) + sign;
    if (holders <= 0) this.#holders.delete(id);
    else this.#holders.set(id, holders);
  }

  isPending({ metadata }: ResourceClaim): boolean {
    return this.#pending.has(metadata.uid ?? "");
  }

  assume(claim: ResourceClaim, allocation: AllocationResult): void {
    this.forget(claim);
    this.#pending.set(claim.metadata.uid ?? "", allocation);
    this.#count(allocation, 1);
  }

  forget({ metadata }: Pick<ResourceClaim, "metadata">): void {
    const uid = metadata.uid ?? "";
    this.#count(this.#pending.get(uid), -1);
    this.#pending.delete(uid);
  }

  /** A claim that was only planned was created: its pending allocation is the other's. */
  rename(planned: ResourceClaim, created: ResourceClaim): void {
    const allocation = this.#pending.get(planned.metadata.uid ?? "");
    this.forget(planned);
    if (allocation !== undefined) this.assume(created, allocation);
  }

  /** Writes the pending allocation, if there is one, and reserves the claim for the pod. */
  async bind(claim: ResourceClaim, pod: Pod, signal: AbortSignal): Promise<ResourceClaim> {
    const { client, objects } = this.#handle;
    const { namespace, name = "", uid = "" } = claim.metadata;
    const allocation = this.#pending.get(uid);
    let current = objects.resourceClaims.get(namespace, name) ?? claim;
    for (let tries = 1; ; tries++) {
      if (current.metadata.uid !== uid || current.metadata.deletionTimestamp !== undefined) {
        throw new Error(`claim ${namespace}/${name} got deleted in the meantime`);
      }
      if (allocation !== undefined && current.status?.allocation !== undefined) {
        throw new Error(`claim ${namespace}/${name} got allocated elsewhere in the meantime`);
      }
      const written = await this.#write(current, allocation, pod, signal);
      if (written.ok) {
        current = written.value;
        break;
      }
      const { reason, message } = written.status;
      if (reason !== "Conflict" || tries >= TRIES_MAX) throw new Error(message);
      const latest = await client.get(resourceClaimKind, { namespace, name }, signal);
      if (!latest.ok) throw new Error(latest.status.message);
      current = latest.value;
    }
    if (allocation !== undefined) this.#forgetWhenSeen(current, allocation, signal);
    return current;
  }

  async #write(
    claim: ResourceClaim,
    allocation: AllocationResult | undefined,
    pod: Pod,
    signal: AbortSignal,
  ) {
    const { client } = this.#handle;
    let current = claim;
    const finalizers = current.metadata.finalizers ?? [];
    if (allocation !== undefined && !finalizers.includes(FINALIZER)) {
      const metadata = { ...current.metadata, finalizers: [...finalizers, FINALIZER] };
      const guarded = await client.update(resourceClaimKind, { ...current, metadata }, {}, signal);
      if (!guarded.ok) return guarded;
      current = guarded.value;
    }
    const { name = "", uid = "" } = pod.metadata;
    const stored = allocation ?? current.status?.allocation;
    if (stored === undefined) {
      const { namespace, name: claimName } = current.metadata;
      throw new Error(`claim ${namespace}/${claimName} got deallocated elsewhere in the meantime`);
    }
    const allocationTimestamp =
      stored.allocationTimestamp ?? timeFromMs(this.#handle.clock.nowMs());
    const status = {
      ...current.status,
      allocation: { ...stored, allocationTimestamp },
      reservedFor: [...(current.status?.reservedFor ?? []), { resource: "pods", name, uid }],
    };
    const next = { ...current, status };
    return await client.update(resourceClaimKind, next, { subresource: "status" }, signal);
  }

  /** The cache must show the allocation before it stops being pending. */
  #forgetWhenSeen(
    { metadata }: ResourceClaim,
    allocation: AllocationResult,
    signal: AbortSignal,
  ): void {
    const { namespace, name = "", uid = "", resourceVersion } = metadata;
    const expected = { namespace, name, uid, resourceVersion };
    const forget = (): void => {
      if (this.#pending.get(uid) === allocation) this.forget({ metadata });
    };
    // A signal that aborts takes the whole scheduler or the reservation of the pod with it.
    this.#handle.objects.resourceClaims.waitFor(expected, signal).then(forget, () => undefined);
  }

  /** Takes the reservation for a pod back that was not bound after all. */
  async release(claim: ResourceClaim, pod: Pod): Promise<void> {
    const { client, objects } = this.#handle;
    const { namespace, name = "" } = claim.metadata;
    const cached = objects.resourceClaims.get(namespace, name);
    if (cached === undefined || !isReservedFor(pod, cached)) return;
    const patch = {
      metadata: { uid: claim.metadata.uid },
      status: { reservedFor: [{ $patch: "delete", uid: pod.metadata.uid }] },
    };
    const key = { namespace, name };
    await client.patch(resourceClaimKind, key, "strategic", patch, { subresource: "status" });
  }

  /** Deletes a claim that the scheduler made. */
  async remove(claim: ResourceClaim): Promise<void> {
    const { client } = this.#handle;
    const { namespace, name = "" } = claim.metadata;
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const latest = await client.get(resourceClaimKind, { namespace, name });
      if (!latest.ok) return;
      const { metadata } = latest.value;
      const finalizers = (metadata.finalizers ?? []).filter((one) => one !== FINALIZER);
      const freed = { ...latest.value, metadata: { ...metadata, finalizers } };
      const updated = await client.update(resourceClaimKind, freed);
      if (updated.ok || updated.status.reason !== "Conflict") break;
    }
    await client.delete(resourceClaimKind, { namespace, name });
  }

  /** Frees the devices of an unused claim. */
  async deallocate(claim: ResourceClaim): Promise<void> {
    const { allocation: _a, reservedFor: _r, devices: _d, ...status } = claim.status ?? {};
    const next = { ...claim, status };
    await this.#handle.client.update(resourceClaimKind, next, { subresource: "status" });
  }
}

function useOf({ consumedCapacity = {} }: DeviceRequestAllocationResult): CapacityUse {
  return new Map(Object.entries(consumedCapacity).map(([name, text]) => [name, quantityOf(text)]));
}
