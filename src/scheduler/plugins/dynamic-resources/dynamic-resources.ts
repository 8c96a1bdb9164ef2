/**
 * Devices for pods: allocates ResourceClaims from the devices that ResourceSlices offer, by classes
 * and CEL selectors, and keeps pods on nodes that can use the devices of their claims.
 */

import type { Node } from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import { parseDuration } from "#api/meta/duration.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  rejected,
  SKIP,
  unresolvable,
  type Verdict,
} from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { normalizeScores } from "../normalize-scores.ts";
import { type Allocated, AllocationCache, type KnownAllocations } from "./allocation-cache.ts";
import { allocationOf } from "./allocation-result.ts";
import type { ChosenDevice } from "./allocator.ts";
import {
  bindingStateOf,
  conditionalDrivers,
  hasBindingConditions,
  untilReadyToBind,
  waitStatusOf,
} from "./binding-conditions.ts";
import type { ClaimAllocations } from "./claim-allocations.ts";
import { claimWakeRules } from "./claim-wake-rules.ts";
import { type PooledDevice, PoolIndex, selectsNode } from "./device-pools.ts";
import type { DeviceState, DeviceStateOf } from "./device-state.ts";
import {
  type ExtendedResourceClaim,
  type ExtendedVariant,
  extendedResourceClaimOf,
} from "./extended-resource-claim.ts";
import { isReservedFor, resourceClaimsOf } from "./pod-resource-claims.ts";
import { type WantedDevices, WantedDevicesReader, type WantedRequest } from "./wanted-devices.ts";

const RESERVED_MAX = 256;
const ALTERNATIVES_MAX = 8;
const BINDING_TIMEOUT_MS = 600_000;
const FILTER_TIMEOUT_MS = 10_000;
const NOT_AVAILABLE = unresolvable("resourceclaim not available on the node");
const CANNOT_ALLOCATE = unresolvable("cannot allocate all claims");

interface State {
  readonly claims: readonly ResourceClaim[];
  readonly wanted: readonly WantedDevices[];
  /** For extended resources that are backed by devices. */
  readonly extended: ExtendedResourceClaim | undefined;
  /** What earlier pods found out for claims like `wanted`. */
  readonly known: KnownAllocations | undefined;
  readonly byNode: Map<string, NodeAllocation>;
  /** Allocated claims that keep the pod from some node. */
  readonly unavailable: Set<ResourceClaim>;
}

/** What would be allocated on a node. */
interface NodeAllocation {
  readonly wanted: readonly WantedDevices[];
  /** In the order of `wanted`. */
  readonly chosen: readonly (readonly ChosenDevice[])[];
  /** The last of `wanted`, if it is for extended resources. */
  readonly variant: ExtendedVariant | undefined;
}

export const dynamicResources = (devices: DeviceStateOf): PluginFactory => ({
  name: "DynamicResources",
  create: (args, handle) =>
    createPlugin(handle, devices(handle), (args ?? {}) as DynamicResourcesArgs),
});

export interface DynamicResourcesArgs {
  readonly bindingTimeout?: string;
  /** How long devices are looked for on one node; zero is without a limit. */
  readonly filterTimeout?: string;
}

function durationMs(text: string | undefined, otherwiseMs: number): number {
  const parsed = text === undefined ? undefined : parseDuration(text);
  return parsed?.ok === true ? Number(parsed.nanos) / 1e6 : otherwiseMs;
}

function createPlugin(handle: Handle, shared: DeviceState, args: DynamicResourcesArgs) {
  const { allocations, classes, selectors } = shared;
  const timeoutMs = durationMs(args.bindingTimeout, BINDING_TIMEOUT_MS);
  const filterTimeoutMs = durationMs(args.filterTimeout, FILTER_TIMEOUT_MS);
  const reader = new WantedDevicesReader(handle.objects);
  const cache = new AllocationCache((devices) => allocations.usesOf(devices.pools), {
    inUse: allocations,
    matches: (request: WantedRequest, device: PooledDevice) => selectors.matches(request, device),
    nowMs: () => handle.clock.elapsedMs(),
    timeoutMs: filterTimeoutMs > 0 ? filterTimeoutMs : Number.POSITIVE_INFINITY,
  });
  const pools = new PoolIndex(handle.objects.resourceSlices, () => cache.clear());
  const checks: NodeChecks = {
    isUsable: (claim) => {
      const { is } = bindingStateOf(claim, timeoutMs, handle.clock.nowMs());
      return is === "ready" || is === "pending";
    },
    allocate: (wanted, node, known) => cache.allocate(wanted, pools.forNode(node), known),
  };
  return definePlugin<State, State>({
    name: "DynamicResources",
    preEnqueue: ({ pod }) => {
      const found = resourceClaimsOf(pod, handle.objects);
      return found.ok ? FITS : unresolvable(found.reason);
    },
    preFilter: (pod) => {
      const extended = extendedResourceClaimOf(pod, classes, reader, handle);
      const hasClaims = (pod.pod.spec.resourceClaims ?? []).length > 0;
      if (!hasClaims && extended === undefined) return SKIP;
      const found = stateOf(pod, handle, allocations, reader, extended);
      if ("fits" in found) return found;
      return { skip: false, state: { ...found, known: cache.knownFor(found.wanted) } };
    },
    filter: (state, _pod, node) => checkNode(state, node, checks),
    postFilter: (pod, { unasked }, state) => {
      // Upstream misses its state then: the attempt ends with these words and without preemption.
      if (unasked.has("DynamicResources")) {
        return { succeeded: false, unresolvable: true, message: "not found" };
      }
      if (state === undefined) return { succeeded: false, message: "no new claims to deallocate" };
      for (const claim of state.unavailable) {
        const users = claim.status?.reservedFor ?? [];
        if (users.some(({ uid }) => uid !== pod.uid)) continue;
        void allocations.deallocate(claim).catch(() => undefined);
        return { succeeded: false, message: "deallocation of ResourceClaim completed" };
      }
      const { stale } = state.extended ?? {};
      if (stale !== undefined) {
        void allocations.remove(stale).catch(() => undefined);
        return { succeeded: false, message: "deletion of ResourceClaim completed" };
      }
      return { succeeded: false, message: "still not schedulable" };
    },
    preScore: (_pod, _nodes, _snapshot, state) =>
      state?.wanted.some(hasAlternatives) === true ? { skip: false, state } : SKIP,
    score: (state, _pod, node) => preferenceScore(state.byNode.get(node.name)?.chosen ?? []),
    normalize: (_state, scores) => normalizeScores(scores),
    reserve: (state, _pod, node) => {
      const { wanted = [], chosen = [] } = state?.byNode.get(node.name) ?? {};
      for (const [index, devices] of chosen.entries()) {
        const { claim } = wanted[index]!;
        allocations.assume(claim, allocationOf(claim, devices, node.name, handle.random));
      }
      return FITS;
    },
    unreserve: (state, pod, node) => {
      const { variant } = state?.byNode.get(node.name) ?? {};
      if (variant !== undefined) allocations.forget(variant.wanted.claim);
      const created = state?.extended?.created;
      if (created !== undefined) {
        allocations.forget(created);
        void allocations.remove(created).catch(() => undefined);
      }
      for (const claim of state?.claims ?? []) {
        allocations.forget(claim);
        void allocations.release(claim, pod.pod).catch(() => undefined);
      }
    },
    hasPreBind: (state, _pod, node) =>
      state !== undefined &&
      (state.claims.length > 0 || state.byNode.get(node.name)?.variant !== undefined),
    preBind: async (state, { pod }, node, signal) => {
      const bound: ResourceClaim[] = [];
      for (const claim of state?.claims ?? []) {
        const isBound = isReservedFor(pod, claim);
        bound.push(isBound ? claim : await allocations.bind(claim, pod, signal));
      }
      const { variant } = state?.byNode.get(node.name) ?? {};
      if (variant !== undefined) {
        const created = await state!.extended!.create(variant, handle, signal);
        allocations.rename(variant.wanted.claim, created);
        const claim = await allocations.bind(created, pod, signal);
        await state!.extended!.writeStatus(variant, claim, handle, signal);
        bound.push(claim);
      }
      if (!bound.some(hasBindingConditions)) return FITS;
      handle.recordEvent({
        ...{ about: pod, type: "Normal", reason: "BindingConditionsPending" },
        action: "Scheduling",
        message: `waiting for binding conditions for device on node ${node.name}`,
        schedulerName: pod.spec.schedulerName ?? "",
      });
      const { clock, objects } = handle;
      const sinceMs = clock.elapsedMs();
      const waited = (status: string): void => {
        const profile = pod.spec.schedulerName ?? "";
        for (const driver of conditionalDrivers(bound)) {
          const durationMs = clock.elapsedMs() - sinceMs;
          handle.deviceMetrics.waitedForDevice(profile, driver, status, durationMs);
        }
      };
      const wait = { clock, claims: objects.resourceClaims, timeoutMs };
      await untilReadyToBind(bound, wait, signal).catch((error: unknown) => {
        waited(waitStatusOf(error));
        throw error;
      });
      waited("success");
      return FITS;
    },
    wakeOn: [
      ...claimWakeRules(handle.objects),
      { event: "device-class-added" },
      { event: "device-class-changed" },
      { event: "resource-slice-added" },
      { event: "resource-slice-changed" },
      { event: "node-added" },
      { event: "node-labels-changed" },
      { event: "node-allocatable-changed" },
    ],
  });
}

function stateOf(
  { pod }: PodInfo,
  handle: Handle,
  allocations: ClaimAllocations,
  reader: WantedDevicesReader,
  extended: ExtendedResourceClaim | undefined,
) {
  const { objects } = handle;
  const found = resourceClaimsOf(pod, objects);
  if (!found.ok) return unresolvable(found.reason);
  const wanted: WantedDevices[] = [];
  for (const claim of found.claims) {
    const { allocation, reservedFor = [] } = claim.status ?? {};
    if (allocation !== undefined) {
      if (!isReservedFor(pod, claim) && reservedFor.length >= RESERVED_MAX) {
        return unresolvable("resourceclaim in use");
      }
      continue;
    }
    // Another pod that shares the claim has it allocated right now.
    if (allocations.isPending(claim)) return rejected("resourceclaim in use");
    const devices = reader.read(claim);
    if (typeof devices === "string") return unresolvable(devices);
    wanted.push(devices);
  }
  const state: Omit<State, "known"> = {
    claims: found.claims,
    wanted,
    extended,
    byNode: new Map(),
    unavailable: new Set(),
  };
  return state;
}

interface NodeChecks {
  /** Whether the devices of an allocated claim are ready, or will be soon. */
  isUsable(claim: ResourceClaim): boolean;
  allocate(
    wanted: readonly WantedDevices[],
    node: Node,
    known: KnownAllocations | undefined,
  ): Allocated;
}

function checkNode(state: State, info: NodeInfo, { isUsable, allocate }: NodeChecks): Verdict {
  const node = info.node!;
  const variant = state.extended?.on(info);
  if (variant !== undefined && "fits" in variant) return variant;
  let isAvailable = true;
  for (const claim of state.claims) {
    const { allocation } = claim.status ?? {};
    if (allocation === undefined) continue;
    const { nodeSelector: selector } = allocation;
    const isHere = selector === undefined || selectsNode(selector, node);
    if (isHere && isUsable(claim)) continue;
    state.unavailable.add(claim);
    isAvailable = false;
  }
  if (!isAvailable) return NOT_AVAILABLE;
  const wanted = variant === undefined ? state.wanted : [...state.wanted, variant.wanted];
  if (wanted.length === 0) return FITS;
  const chosen = allocate(wanted, node, variant === undefined ? state.known : undefined);
  if (chosen === "unfinished") {
    // The pod is tried again after a back-off: the search may end in time then.
    throw new Error(`node ${info.name}: timed out trying to allocate devices`);
  }
  if (chosen === undefined) return CANNOT_ALLOCATE;
  state.byNode.set(info.name, { wanted, chosen, variant });
  return FITS;
}

function hasAlternatives({ requests }: WantedDevices): boolean {
  return requests.some((alternatives) =>
    alternatives.some((request) => request.parent !== undefined),
  );
}

/** Higher where a preferred alternative of a request was possible. */
function preferenceScore(chosen: readonly (readonly ChosenDevice[])[]): number {
  let score = 0;
  const counted = new Set<WantedRequest>();
  for (const { request } of chosen.flat()) {
    if (request.parent === undefined || counted.has(request)) continue;
    counted.add(request);
    score += ALTERNATIVES_MAX - request.rank;
  }
  return score;
}
