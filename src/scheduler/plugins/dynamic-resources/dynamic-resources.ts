/**
 * Devices for pods: allocates ResourceClaims from the devices that ResourceSlices offer, by classes
 * and CEL selectors, and keeps pods on nodes that can use the devices of their claims.
 */

import { type DeviceMatcher, deviceMatcher } from "#api/expressions/devices.ts";
import type { Node, NodeSelector, NodeSelectorRequirement } from "#api/generated/core.v1.ts";
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  ResourceClaim,
} from "#api/generated/resource.v1.ts";
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
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { normalizeScores } from "../normalize-scores.ts";
import { type Allocated, AllocationCache } from "./allocation-cache.ts";
import type { ChosenDevice } from "./allocator.ts";
import { ClaimAllocations } from "./claim-allocations.ts";
import { type PooledDevice, PoolIndex, selectsNode } from "./device-pools.ts";
import { isReservedFor, resourceClaimsOf } from "./pod-resource-claims.ts";
import { type WantedDevices, WantedDevicesReader, type WantedRequest } from "./wanted-devices.ts";

const RESERVED_MAX = 256;
const ALTERNATIVES_MAX = 8;
const SELECTORS_MAX = 1_000;
const NOT_AVAILABLE = unresolvable("resourceclaim not available on the node");
const CANNOT_ALLOCATE = unresolvable("cannot allocate all claims");

interface State {
  readonly claims: readonly ResourceClaim[];
  readonly wanted: readonly WantedDevices[];
  /** What would be allocated on each node, in the order of `wanted`. */
  readonly byNode: Map<string, readonly (readonly ChosenDevice[])[]>;
  /** Allocated claims that keep the pod from some node. */
  readonly unavailable: Set<ResourceClaim>;
}

/** One for each scheduler: its profiles must know of each other's allocations. */
export function dynamicResources(): PluginFactory {
  let shared: ClaimAllocations | undefined;
  return {
    name: "DynamicResources",
    create: (_args, handle) => {
      shared ??= new ClaimAllocations(handle);
      return createPlugin(handle, shared);
    },
  };
}

function createPlugin(handle: Handle, allocations: ClaimAllocations) {
  const selectors = new SelectorCache();
  const pools = new PoolIndex(handle.objects.resourceSlices);
  const reader = new WantedDevicesReader(handle.objects);
  const cache = new AllocationCache();
  const rest = {
    inUse: allocations,
    matches: (request: WantedRequest, device: PooledDevice) => selectors.matches(request, device),
  };
  const allocate = (wanted: readonly WantedDevices[], node: Node): Allocated => {
    const devices = pools.forNode(node);
    return cache.allocate(wanted, devices, allocations.versionOf(devices.pools), rest);
  };
  return definePlugin<State, State>({
    name: "DynamicResources",
    preEnqueue: ({ pod }) => {
      const found = resourceClaimsOf(pod, handle.objects);
      return found.ok ? FITS : unresolvable(found.reason);
    },
    preFilter: (pod) => {
      if ((pod.pod.spec.resourceClaims ?? []).length === 0) return SKIP;
      const state = stateOf(pod, handle, allocations, reader);
      if ("fits" in state) return state;
      return { skip: false, state };
    },
    filter: (state, _pod, node) => checkNode(state, node.node!, allocate),
    postFilter: (pod, _context, state) => {
      if (state === undefined) return { succeeded: false, message: "no new claims to deallocate" };
      for (const claim of state.unavailable) {
        const users = claim.status?.reservedFor ?? [];
        if (users.some(({ uid }) => uid !== pod.uid)) continue;
        void allocations.deallocate(claim).catch(() => undefined);
        return { succeeded: false, message: "deallocation of ResourceClaim completed" };
      }
      return { succeeded: false, message: "still not schedulable" };
    },
    preScore: (_pod, _nodes, _snapshot, state) =>
      state?.wanted.some(hasAlternatives) === true ? { skip: false, state } : SKIP,
    score: (state, _pod, node) => preferenceScore(state.byNode.get(node.name) ?? []),
    normalize: (_state, scores) => normalizeScores(scores),
    reserve: (state, _pod, node) => {
      const chosen = state?.byNode.get(node.name) ?? [];
      for (const [index, devices] of chosen.entries()) {
        const { claim } = state!.wanted[index]!;
        allocations.assume(claim, allocationOf(claim, devices, node.name));
      }
      return FITS;
    },
    unreserve: (state, pod) => {
      for (const claim of state?.claims ?? []) {
        allocations.forget(claim);
        void allocations.release(claim, pod.pod).catch(() => undefined);
      }
    },
    hasPreBind: (state) => state !== undefined,
    preBind: async (state, { pod }, _node, signal) => {
      for (const claim of state?.claims ?? []) {
        if (!isReservedFor(pod, claim)) await allocations.bind(claim, pod, signal);
      }
      return FITS;
    },
    wakeOn: [
      { event: "own-claims-changed" },
      {
        event: "resource-claim-added",
        wakes: ({ namespace }, { metadata }) => metadata.namespace === namespace,
      },
      { event: "resource-claim-changed" },
      { event: "resource-claim-deleted" },
      { event: "device-class-added" },
      { event: "device-class-changed" },
      { event: "resource-slice-added" },
      { event: "resource-slice-changed" },
      { event: "node-added" },
      { event: "node-labels-changed" },
    ],
  });
}

function stateOf(
  { pod }: PodInfo,
  handle: Handle,
  allocations: ClaimAllocations,
  reader: WantedDevicesReader,
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
  const state: State = {
    claims: found.claims,
    wanted,
    byNode: new Map(),
    unavailable: new Set(),
  };
  return state;
}

function checkNode(
  state: State,
  node: Node,
  allocate: (wanted: readonly WantedDevices[], node: Node) => Allocated,
): Verdict {
  let isAvailable = true;
  for (const claim of state.claims) {
    const selector = claim.status?.allocation?.nodeSelector;
    if (selector === undefined || selectsNode(selector, node)) continue;
    state.unavailable.add(claim);
    isAvailable = false;
  }
  if (!isAvailable) return NOT_AVAILABLE;
  if (state.wanted.length === 0) return FITS;
  const chosen = allocate(state.wanted, node);
  if (chosen === undefined) return CANNOT_ALLOCATE;
  state.byNode.set(node.metadata.name ?? "", chosen);
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

function allocationOf(
  claim: ResourceClaim,
  chosen: readonly ChosenDevice[],
  nodeName: string,
): AllocationResult {
  const results = chosen.map(({ request, device: { device, pool } }) => ({
    request: fullName(request),
    driver: pool.driver,
    pool: pool.name,
    device: device.name,
    ...(request.adminAccess ? { adminAccess: true } : {}),
    ...(request.tolerations.length === 0 ? {} : { tolerations: request.tolerations }),
  }));
  const config = configOf(claim, chosen);
  const nodeSelector = nodeSelectorOf(chosen, nodeName);
  return {
    devices: { results, ...(config.length === 0 ? {} : { config }) },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

function fullName({ name, parent }: WantedRequest): string {
  return parent === undefined ? name : `${parent}/${name}`;
}

/** What classes and the claim say to the drivers, as far as it is about the chosen devices. */
function configOf(
  claim: ResourceClaim,
  chosen: readonly ChosenDevice[],
): DeviceAllocationConfiguration[] {
  const config: DeviceAllocationConfiguration[] = [];
  for (const request of new Set(chosen.map((one) => one.request))) {
    for (const one of request.deviceClass.spec.config ?? []) {
      config.push({ source: "FromClass", requests: [fullName(request)], ...one });
    }
  }
  const names = new Set(
    chosen.flatMap(({ request }) => [fullName(request), request.parent ?? request.name]),
  );
  for (const one of claim.spec.devices.config ?? []) {
    const isAbout =
      (one.requests ?? []).length === 0 || one.requests!.some((name) => names.has(name));
    if (isAbout) config.push({ source: "FromClaim", ...one });
  }
  return config;
}

/** Where the devices can be used: undefined for everywhere. */
function nodeSelectorOf(
  chosen: readonly ChosenDevice[],
  nodeName: string,
): NodeSelector | undefined {
  const matchFields: NodeSelectorRequirement[] = [];
  const matchExpressions: NodeSelectorRequirement[] = [];
  for (const { device } of chosen) {
    const { spec } = device.slice;
    const scope = spec.perDeviceNodeSelection === true ? device.device : spec;
    if ((scope.nodeName ?? "") !== "" || device.device.bindsToNode === true) {
      const only = { key: "metadata.name", operator: "In", values: [nodeName] } as const;
      return { nodeSelectorTerms: [{ matchFields: [only] }] };
    }
    const [term] = scope.nodeSelector?.nodeSelectorTerms ?? [];
    addNew(matchFields, term?.matchFields ?? []);
    addNew(matchExpressions, term?.matchExpressions ?? []);
  }
  if (matchFields.length + matchExpressions.length === 0) return undefined;
  const fields = matchFields.length === 0 ? {} : { matchFields };
  const expressions = matchExpressions.length === 0 ? {} : { matchExpressions };
  return { nodeSelectorTerms: [{ ...fields, ...expressions }] };
}

function addNew(all: NodeSelectorRequirement[], more: readonly NodeSelectorRequirement[]): void {
  for (const one of more) {
    const text = JSON.stringify(one);
    if (!all.some((known) => JSON.stringify(known) === text)) all.push(one);
  }
}

/** Compiled selectors and what they said of devices that have not changed. */
class SelectorCache {
  readonly #matchers = new Map<string, DeviceMatcher>();
  readonly #known = new WeakMap<object, Map<string, boolean>>();

  matches({ expressions }: WantedRequest, device: PooledDevice): boolean {
    for (const expression of expressions) if (!this.#matchesOne(expression, device)) return false;
    return true;
  }

  #matchesOne(expression: string, { device, pool }: PooledDevice): boolean {
    let known = this.#known.get(device);
    if (known === undefined) {
      known = new Map();
      this.#known.set(device, known);
    }
    let matches = known.get(expression);
    if (matches === undefined) {
      const result = this.#matcher(expression)({ driver: pool.driver, device });
      if (!result.ok) throw new Error(result.error);
      matches = result.matches;
      known.set(expression, matches);
    }
    return matches;
  }

  #matcher(expression: string): DeviceMatcher {
    let matcher = this.#matchers.get(expression);
    if (matcher === undefined) {
      if (this.#matchers.size >= SELECTORS_MAX) this.#matchers.clear();
      matcher = deviceMatcher(expression);
      this.#matchers.set(expression, matcher);
    }
    return matcher;
  }
}
