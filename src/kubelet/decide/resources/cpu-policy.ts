/**
 * The static policy of the CPU manager: containers of Guaranteed pods that ask for whole CPUs get
 * CPUs of their own; all others share the rest. Pure: each function takes the state and returns the
 * next one.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { AdmissionError } from "./admission-error.ts";
import {
  type CpuSet,
  difference,
  formatCpuSet,
  intersection,
  isSameSet,
  union,
} from "./cpu-set.ts";
import { allCpus, type CpuTopology, cpusIn, groupsOf } from "./cpu-topology.ts";
import { distributeCpus } from "./distribute-cpus.ts";
import { guaranteedCpus, podGuaranteedCpus } from "./guaranteed-cpus.ts";
import { hasNode, masksOf, type NumaMask, nodesOf, sizeOf } from "./numa-mask.ts";
import { takeCpus } from "./take-cpus.ts";
import type { TopologyHint } from "./topology-hints.ts";

export interface CpuPolicyOptions {
  readonly fullPhysicalCpusOnly: boolean;
  readonly distributeAcrossNuma: boolean;
  readonly strictReservation: boolean;
  readonly alignByUncoreCache: boolean;
}

export interface CpuPolicy {
  readonly topology: CpuTopology;
  readonly reserved: CpuSet;
  readonly options: CpuPolicyOptions;
}

export interface CpuState {
  /** CPUs that are not exclusively assigned. */
  readonly shared: CpuSet;
  /** By pod uid and container. */
  readonly assigned: ReadonlyMap<string, ReadonlyMap<string, CpuSet>>;
}

export const NO_CPUS: CpuState = { shared: [], assigned: new Map() };

/** `specific` wins over the number; the lowest cores are reserved otherwise. */
export function createCpuPolicy(
  topology: CpuTopology,
  reservedCount: number,
  specific: CpuSet,
  options: CpuPolicyOptions,
): CpuPolicy {
  const none: CpuPolicy = { topology, reserved: [], options };
  const count = Math.min(reservedCount, topology.cpus.length);
  const reserved = specific.length > 0 ? specific : take(none, allCpus(topology), count);
  if (reserved.length !== reservedCount) {
    throw new Error(
      `[cpumanager] unable to reserve the required amount of CPUs (size of ${formatCpuSet(reserved)} did not equal ${reservedCount})`,
    );
  }
  return { topology, reserved, options };
}

/** Checks what was read from the disk against the machine; an empty state becomes the initial one. */
export function checkCpuState(policy: CpuPolicy, { shared, assigned }: CpuState): CpuState {
  const { reserved, options } = policy;
  const known = options.strictReservation
    ? difference(allCpus(policy.topology), reserved)
    : allCpus(policy.topology);
  if (shared.length === 0) {
    if (assigned.size > 0) throw new Error("default cpuset cannot be empty");
    return { shared: known, assigned };
  }
  const both = intersection(reserved, shared);
  const quoted = (set: CpuSet): string => JSON.stringify(formatCpuSet(set));
  if (options.strictReservation && both.length > 0) {
    throw new Error(
      `some of strictly reserved cpus: ${quoted(both)} are present in defaultCpuSet: ${quoted(shared)}`,
    );
  }
  if (!options.strictReservation && !isSameSet(both, reserved)) {
    throw new Error(
      `not all reserved cpus: ${quoted(reserved)} are present in defaultCpuSet: ${quoted(shared)}`,
    );
  }
  for (const [pod, containers] of assigned) {
    for (const [container, cpus] of containers) {
      if (intersection(shared, cpus).length === 0) continue;
      throw new Error(
        `pod: ${pod}, container: ${container} cpuset: ${quoted(cpus)} overlaps with default cpuset ${quoted(shared)}`,
      );
    }
  }
  const inState = union(shared, ...[...assigned.values()].flatMap((one) => [...one.values()]));
  if (!isSameSet(inState, known)) {
    throw new Error(
      `current set of available CPUs ${quoted(known)} doesn't match with CPUs in state ${quoted(inState)}`,
    );
  }
  return { shared, assigned };
}

/** CPUs of init containers that have ended by the time that later containers run. */
export type ReusableCpus = CpuSet;

/** Throws an error that the pod is refused with. Undefined: nothing changes. */
export function allocateCpus(
  policy: CpuPolicy,
  state: CpuState,
  request: {
    readonly pod: Pod;
    readonly container: Container;
    readonly affinity: NumaMask | undefined;
    readonly reusable: ReusableCpus;
  },
): { readonly state: CpuState; readonly cpus: CpuSet } | undefined {
  const { pod, container, affinity, reusable } = request;
  const uid = pod.metadata.uid ?? "";
  const count = guaranteedCpus(pod, container);
  if (count === 0) return undefined;
  refuseUnaligned(policy, state, count);
  const has = state.assigned.get(uid)?.get(container.name);
  if (has !== undefined) return { state, cpus: has };
  const available = union(difference(state.shared, policy.reserved), reusable);
  let cpus: CpuSet = [];
  if (affinity !== undefined) {
    const near = intersection(
      available,
      cpusIn(policy.topology.cpus, "numaNode", nodesOf(affinity)),
    );
    cpus = take(policy, near, Math.min(count, near.length));
  }
  cpus = union(cpus, take(policy, difference(available, cpus), count - cpus.length));
  const containers = new Map(state.assigned.get(uid)).set(container.name, cpus);
  return {
    cpus,
    state: {
      shared: difference(state.shared, cpus),
      assigned: new Map(state.assigned).set(uid, containers),
    },
  };
}

export function releaseCpus(policy: CpuPolicy, state: CpuState, uid: string): CpuState {
  const containers = state.assigned.get(uid);
  if (containers === undefined) return state;
  const assigned = new Map(state.assigned);
  assigned.delete(uid);
  const freed = intersection(union(...containers.values()), allCpus(policy.topology));
  return { shared: union(state.shared, freed), assigned };
}

/** Undefined: the container has no preference. */
export function cpuHints(
  policy: CpuPolicy,
  state: CpuState,
  pod: Pod,
  container: Container,
  reusable: ReusableCpus,
): readonly TopologyHint[] | undefined {
  const count = guaranteedCpus(pod, container);
  if (count === 0) return undefined;
  const has = state.assigned.get(pod.metadata.uid ?? "")?.get(container.name);
  if (has !== undefined) return has.length === count ? hintsFor(policy, has, [], count) : [];
  return hintsFor(policy, difference(state.shared, policy.reserved), reusable, count);
}

export function podCpuHints(
  policy: CpuPolicy,
  state: CpuState,
  pod: Pod,
): readonly TopologyHint[] | undefined {
  const count = podGuaranteedCpus(pod);
  if (count === 0) return undefined;
  const assigned = state.assigned.get(pod.metadata.uid ?? "") ?? new Map<string, CpuSet>();
  const containers = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
  const isOther = containers.some((one) => {
    const has = assigned.get(one.name);
    return has !== undefined && has.length !== guaranteedCpus(pod, one);
  });
  if (isOther) return [];
  const has = union(...assigned.values());
  if (has.length === count) return hintsFor(policy, has, [], count);
  return hintsFor(policy, difference(state.shared, policy.reserved), has, count);
}

function hintsFor(
  { topology }: CpuPolicy,
  available: CpuSet,
  reusable: CpuSet,
  count: number,
): readonly TopologyHint[] {
  const nodeOf = new Map(topology.cpus.map(({ cpu, numaNode }) => [cpu, numaNode]));
  const within = (mask: NumaMask, cpus: CpuSet): number =>
    cpus.filter((cpu) => hasNode(mask, nodeOf.get(cpu) ?? -1)).length;
  const nodes = groupsOf(topology.cpus, "numaNode");
  const masks = masksOf(nodes);
  const fitting = masks.filter((mask) => within(mask, allCpus(topology)) >= count).map(sizeOf);
  const smallest = Math.min(nodes.length, ...fitting);
  return masks
    .filter((mask) => within(mask, reusable) === reusable.length)
    .filter((mask) => reusable.length + within(mask, available) >= count)
    .map((affinity) => ({ affinity, preferred: sizeOf(affinity) === smallest }));
}

function refuseUnaligned({ topology, reserved, options }: CpuPolicy, state: CpuState, n: number) {
  if (!options.fullPhysicalCpusOnly) return;
  const { cpusPerCore, cpus } = topology;
  if (n % cpusPerCore !== 0) {
    throw new AdmissionError(
      "SMTAlignmentError",
      `SMT Alignment Error: requested ${n} cpus not multiple cpus per core = ${cpusPerCore}`,
    );
  }
  const cores = new Set(cpus.filter(({ cpu }) => reserved.includes(cpu)).map(({ core }) => core));
  const free = difference(state.shared, cpusIn(cpus, "core", [...cores])).length;
  if (n <= free) return;
  throw new AdmissionError(
    "SMTAlignmentError",
    `SMT Alignment Error: not enough free physical CPUs: available physical CPUs = ${free}, requested CPUs = ${n}, CPUs per core = ${cpusPerCore}`,
  );
}

function take({ topology, options }: CpuPolicy, available: CpuSet, count: number): CpuSet {
  const { alignByUncoreCache, distributeAcrossNuma, fullPhysicalCpusOnly } = options;
  if (!distributeAcrossNuma) return takeCpus(topology, available, count, { alignByUncoreCache });
  const groupSize = fullPhysicalCpusOnly ? topology.cpusPerCore : 1;
  return distributeCpus(topology, available, count, groupSize);
}
