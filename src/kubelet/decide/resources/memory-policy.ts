/**
 * The static policy of the memory manager: containers of Guaranteed pods get memory and huge pages
 * from as few NUMA nodes as possible. Pure: each function takes the state and returns the next one.
 *
 * A NUMA node serves either containers that fit on one node, or containers that span one group of
 * nodes, never both; `cells` names the group.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { isSidecar } from "../restart.ts";
import { hasPodLevelResources } from "./guaranteed-cpus.ts";
import {
  charged,
  type MachineMemoryState,
  type MemoryBlock,
  type MemoryState,
  released,
} from "./memory-state.ts";
import { masksOf, type NumaMask, nodesOf, numaMask, sizeOf } from "./numa-mask.ts";
import { isNarrower, type ProviderHints, type TopologyHint } from "./topology-hints.ts";

/** By resource: `memory` and `hugepages-…`. */
export type MemoryRequest = ReadonlyMap<string, number>;

/** Memory of the pod's init containers that later containers use again, by NUMA set and resource. */
export type ReusableMemory = ReadonlyMap<string, number>;

export interface MemoryAllocation {
  readonly state: MemoryState;
  readonly reusable: ReusableMemory;
}

/** Undefined: the container's memory is not placed. Throws an error that the pod is refused with. */
export function allocateMemory(
  state: MemoryState,
  pod: Pod,
  container: Container,
  hint: TopologyHint,
  reusable: ReusableMemory,
): MemoryAllocation | undefined {
  if (!isPlaced(pod)) return undefined;
  const uid = pod.metadata.uid ?? "";
  const has = state.assigned.get(uid)?.get(container.name);
  if (has !== undefined) return { state, reusable: nextReusable(pod, container, has, reusable) };
  const request = memoryRequest(container);
  const affinity = placeFor(state.machine, request, hint, reusable);
  const nodes = nodesOf(affinity);
  let { machine } = state;
  const blocks: MemoryBlock[] = [];
  for (const [type, size] of request) {
    blocks.push({ numaAffinity: nodes, type, size });
    const again = reusable.get(reuseKey(affinity, type)) ?? 0;
    machine = charged(machine, { numaAffinity: nodes, type, size: Math.max(0, size - again) });
  }
  const containers = new Map(state.assigned.get(uid)).set(container.name, blocks);
  const assigned = new Map(state.assigned).set(
    uid,
    withoutReused(pod, container, blocks, containers),
  );
  return {
    state: { machine, assigned },
    reusable: nextReusable(pod, container, blocks, reusable),
  };
}

/** `containers`: only these; undefined: all of the pod. */
export function releaseMemory(
  state: MemoryState,
  uid: string,
  containers?: readonly string[],
): MemoryState {
  const own = state.assigned.get(uid);
  if (own === undefined) return state;
  const names = (containers ?? [...own.keys()]).filter((name) => own.has(name));
  if (names.length === 0) return state;
  const machine = names
    .flatMap((name) => own.get(name) ?? [])
    .reduce((rest, block) => released(rest, block), state.machine);
  const assigned = new Map(state.assigned);
  const left = new Map([...own].filter(([name]) => !names.includes(name)));
  if (left.size === 0) assigned.delete(uid);
  else assigned.set(uid, left);
  return { machine, assigned };
}

/** Init containers whose memory is free once the container starts. */
export function endedInitContainers(pod: Pod, container: string): readonly string[] {
  const init = pod.spec.initContainers ?? [];
  const index = init.findIndex(({ name }) => name === container);
  const before = index === -1 ? init : init.slice(0, index);
  return before.filter((one) => !isSidecar(one)).map(({ name }) => name);
}

export function memoryHints(
  state: MemoryState,
  pod: Pod,
  container: Container,
  reusable: ReusableMemory,
): ProviderHints {
  if (!isPlaced(pod)) return new Map();
  const request = memoryRequest(container);
  const has = state.assigned.get(pod.metadata.uid ?? "")?.get(container.name);
  if (has !== undefined) return hintsOfBlocks(has, request);
  return hintsByResource(state.machine, request, reusable);
}

export function podMemoryHints(state: MemoryState, pod: Pod): ProviderHints {
  const request = podMemoryRequest(pod);
  if (!isPlaced(pod) || request.size === 0) return new Map();
  const assigned = state.assigned.get(pod.metadata.uid ?? "");
  const [has] = assigned?.values() ?? [];
  if (has !== undefined) return hintsOfBlocks(has, request);
  return hintsByResource(state.machine, request, new Map());
}

function isPlaced(pod: Pod): boolean {
  return qosClassOf(pod.spec) === "Guaranteed" && !hasPodLevelResources(pod);
}

function memoryRequest({ resources }: Container): MemoryRequest {
  const amounts = { ...resources?.limits, ...resources?.requests };
  return new Map(
    Object.entries(amounts)
      .filter(([name]) => name === "memory" || name.startsWith("hugepages-"))
      .map(([name, amount]) => [name, quantityValue(quantityOf(amount))]),
  );
}

function podMemoryRequest(pod: Pod): MemoryRequest {
  const [byInit, bySidecars, byApp] = [new Map(), new Map(), new Map()] as Map<string, number>[];
  const of = (amounts: Map<string, number> | undefined, name: string): number =>
    amounts?.get(name) ?? 0;
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, size] of memoryRequest(container)) {
      if (isSidecar(container)) bySidecars?.set(name, of(bySidecars, name) + size);
      else byInit?.set(name, Math.max(of(byInit, name), of(bySidecars, name) + size));
    }
  }
  for (const container of pod.spec.containers ?? []) {
    for (const [name, size] of memoryRequest(container)) byApp?.set(name, of(byApp, name) + size);
  }
  return new Map(
    [...(byApp?.keys() ?? [])].map((name) => [
      name,
      Math.max(of(byInit, name), of(byApp, name) + of(bySidecars, name)),
    ]),
  );
}

/** The NUMA nodes that the container gets its memory from. */
function placeFor(
  machine: MachineMemoryState,
  request: MemoryRequest,
  hint: TopologyHint,
  reusable: ReusableMemory,
): NumaMask {
  let { affinity } = hint;
  let isPreferred = hint.preferred;
  const possible = possibleHints(machine, request, reusable);
  if (affinity === undefined) {
    if (possible.length === 0) {
      throw new Error(
        "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
      );
    }
    const best = bestHint(possible);
    if (!best.preferred && isPreferred) {
      throw new Error("[memorymanager] failed to find the default preferred hint");
    }
    affinity = best.affinity;
    isPreferred = best.preferred;
  }
  if (!hasFree(machine, affinity, request)) {
    const current = affinity;
    const wider = possible.filter((one) => (one.affinity & current) === current);
    if (wider.length === 0) {
      throw new Error(
        "[memorymanager] failed to find NUMA nodes to extend the current topology hint",
      );
    }
    const best = bestHint(wider);
    if (!best.preferred && isPreferred) {
      throw new Error("[memorymanager] failed to find the extended preferred hint");
    }
    affinity = best.affinity;
  }
  if (!keepsGroups(machine, affinity)) {
    throw new Error("[memorymanager] preferred hint violates NUMA node allocation");
  }
  return affinity;
}

interface MemoryHint extends TopologyHint {
  readonly affinity: NumaMask;
}

function possibleHints(
  machine: MachineMemoryState,
  request: MemoryRequest,
  reusable: ReusableMemory,
): readonly MemoryHint[] {
  const nodes = [...machine.keys()].sort((a, b) => a - b);
  let smallest = nodes.length;
  const masks: NumaMask[] = [];
  for (const mask of masksOf(nodes)) {
    const sum = (type: string, field: "free" | "allocatable"): number =>
      nodesOf(mask).reduce(
        (total, node) => total + (machine.get(node)?.memory.get(type)?.[field] ?? 0),
        0,
      );
    if ([...request].some(([type, size]) => sum(type, "allocatable") < size)) continue;
    smallest = Math.min(smallest, sizeOf(mask));
    const [only] = nodesOf(mask);
    const isGrouped = (machine.get(only ?? -1)?.cells.length ?? 1) > 1;
    if (sizeOf(mask) === 1 ? isGrouped : !keepsGroups(machine, mask)) continue;
    const fits = [...request].every(
      ([type, size]) => sum(type, "free") + (reusable.get(reuseKey(mask, type)) ?? 0) >= size,
    );
    if (fits) masks.push(mask);
  }
  return masks.map((affinity) => ({ affinity, preferred: sizeOf(affinity) === smallest }));
}

function hintsByResource(
  machine: MachineMemoryState,
  request: MemoryRequest,
  reusable: ReusableMemory,
): ProviderHints {
  const hints = possibleHints(machine, request, reusable);
  // Like upstream, a request that no set of nodes can satisfy has no hints at all when it is asked
  // for; the allocation is what fails.
  if (hints.length === 0) return new Map();
  return new Map([...request.keys()].map((type) => [type, hints]));
}

/** The hints that a container's blocks came from; none if the request is another one now. */
function hintsOfBlocks(blocks: readonly MemoryBlock[], request: MemoryRequest): ProviderHints {
  const isSame =
    blocks.length === request.size && blocks.every(({ type, size }) => request.get(type) === size);
  if (!isSame) return new Map();
  return new Map(
    blocks.map(({ type, numaAffinity }) => [
      type,
      [{ affinity: numaMask(numaAffinity), preferred: true }],
    ]),
  );
}

function bestHint(hints: readonly MemoryHint[]): MemoryHint {
  return hints.reduce((best, hint) => {
    if (hint.preferred !== best.preferred) return hint.preferred ? hint : best;
    return isNarrower(hint.affinity, best.affinity) ? hint : best;
  });
}

function hasFree(machine: MachineMemoryState, mask: NumaMask, request: MemoryRequest): boolean {
  return [...request].every(([type, size]) => {
    const free = nodesOf(mask).map((node) => machine.get(node)?.memory.get(type)?.free ?? 0);
    return free.reduce((sum, one) => sum + one, 0) >= size;
  });
}

function keepsGroups(machine: MachineMemoryState, mask: NumaMask): boolean {
  if (sizeOf(mask) === 1) return true;
  return nodesOf(mask).every((node) => {
    const { assignments = 0, cells = [] } = machine.get(node) ?? {};
    return assignments === 0 || (cells.length > 1 && numaMask(cells) === mask);
  });
}

function reuseKey(mask: NumaMask, type: string): string {
  return `${mask} ${type}`;
}

function nextReusable(
  pod: Pod,
  container: Container,
  blocks: readonly MemoryBlock[],
  reusable: ReusableMemory,
): ReusableMemory {
  const next = new Map(reusable);
  const isInit = (pod.spec.initContainers ?? []).some(
    (one) => one.name === container.name && !isSidecar(one),
  );
  for (const { numaAffinity, type, size } of blocks) {
    const key = reuseKey(numaMask(numaAffinity), type);
    const has = next.get(key) ?? 0;
    next.set(key, isInit ? Math.max(has, size) : Math.max(0, has - size));
  }
  return next;
}

/** What an earlier init container gave is not counted twice: the sum is what the pod holds. */
function withoutReused(
  pod: Pod,
  container: Container,
  blocks: readonly MemoryBlock[],
  containers: ReadonlyMap<string, readonly MemoryBlock[]>,
): ReadonlyMap<string, readonly MemoryBlock[]> {
  const next = new Map(containers);
  for (const { numaAffinity, type, size } of blocks) {
    let left = size;
    for (const name of endedInitContainers(pod, container.name)) {
      const own = next.get(name)?.map((block) => {
        const isSame =
          block.type === type && numaMask(block.numaAffinity) === numaMask(numaAffinity);
        if (!isSame || left === 0) return block;
        const used = Math.min(left, block.size);
        left -= used;
        return { ...block, size: block.size - used };
      });
      if (own !== undefined) next.set(name, own);
    }
  }
  return next;
}
