/**
 * What pods ask for and nodes offer, as plain numbers: thousandths of a CPU, bytes, and whole units
 * of everything else. Filters compare these for every pair of pod and node.
 */
import type { Container, Pod, ResourceList } from "#api/generated/core.v1.ts";
import {
  isExtendedResource,
  isHugePages,
  isPodLevelResource,
} from "#api/kinds/core/v1/resources/resource-names.ts";
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";

export interface Resources {
  milliCpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Extended resources, huge pages and the like. Undefined if there are none. */
  scalars: Map<string, number> | undefined;
}

/** Counted for a container that asks for no CPU or memory when nodes are scored. */
const DEFAULT_MILLI_CPU = 100;
const DEFAULT_MEMORY = 200 * 1024 * 1024;
const DEFAULTS: ReadonlyMap<string, number> = new Map([
  ["cpu", DEFAULT_MILLI_CPU],
  ["memory", DEFAULT_MEMORY],
]);

export function noResources(): Resources {
  return { milliCpu: 0, memory: 0, ephemeralStorage: 0, scalars: undefined };
}

export function addResources(sum: Resources, other: Resources, sign: 1 | -1): void {
  sum.milliCpu += sign * other.milliCpu;
  sum.memory += sign * other.memory;
  sum.ephemeralStorage += sign * other.ephemeralStorage;
  if (other.scalars === undefined) return;
  sum.scalars ??= new Map();
  for (const [name, amount] of other.scalars) {
    sum.scalars.set(name, (sum.scalars.get(name) ?? 0) + sign * amount);
  }
}

export function sameResources(a: Resources, b: Resources): boolean {
  return (
    a.milliCpu === b.milliCpu &&
    a.memory === b.memory &&
    a.ephemeralStorage === b.ephemeralStorage &&
    sameAmounts(a.scalars, b.scalars)
  );
}

export function copyResources(resources: Resources): Resources {
  const { scalars } = resources;
  return { ...resources, scalars: scalars === undefined ? undefined : new Map(scalars) };
}

/** The amount of one resource by its name. */
export function amountOf(resources: Resources, name: string): number {
  switch (name) {
    case "cpu":
      return resources.milliCpu;
    case "memory":
      return resources.memory;
    case "ephemeral-storage":
      return resources.ephemeralStorage;
    default:
      return resources.scalars?.get(name) ?? 0;
  }
}

/** Resources that the scheduler counts beside CPU, memory and ephemeral storage. */
export function isScalarResource(name: string): boolean {
  return (
    isHugePages(name) ||
    name.startsWith("attachable-volumes-") ||
    name.includes("kubernetes.io/") ||
    isExtendedResource(name)
  );
}

export function resourcesOfList(list: ResourceList | undefined): Resources {
  return resourcesOf(numbersOf(list));
}

export interface PodRequestsOptions {
  /** Counts what a container that is being resized still holds; for pods that run. */
  readonly useStatus?: boolean;
  /** Counted for containers that do not name the resource. */
  readonly missing?: ReadonlyMap<string, number>;
  /** Counts containers and overhead only. */
  readonly withoutPodLevel?: boolean;
}

/** The requests of a whole pod: containers, init containers, sidecars, pod level and overhead. */
export function podResources(pod: Pod, options: PodRequestsOptions = {}): Resources {
  return resourcesOf(podAmounts(pod, options));
}

/**
 * The requests with the default amounts for containers that name none, as scoring counts them. `requests`
 * are those of `podResources`.
 */
export function nonZeroResources(pod: Pod, requests: Resources, useStatus: boolean): Resources {
  if (namesCpuAndMemory(pod)) return requests;
  const podLevel = pod.spec.resources?.requests;
  const missing = new Map<string, number>();
  if (podLevel?.cpu === undefined) missing.set("cpu", DEFAULT_MILLI_CPU);
  if (podLevel?.memory === undefined) missing.set("memory", DEFAULT_MEMORY);
  return podResources(pod, { useStatus, missing });
}

/** Every container names both. While a resize is pending, the status may count instead of the spec. */
function namesCpuAndMemory({ spec, status }: Pod): boolean {
  const names = ({ resources }: Container): boolean =>
    resources?.requests?.cpu !== undefined && resources.requests.memory !== undefined;
  if (status?.conditions?.some(({ type }) => type === "PodResizePending")) return false;
  return (spec.containers ?? []).every(names) && (spec.initContainers ?? []).every(names);
}

/**
 * What NodeResourcesFit counts for a pod when it scores nodes for it: upstream leaves requests of
 * the pod level out there, and counts the default amounts even if these name the resource.
 */
export function scoredResources(pod: Pod): Resources {
  return podResources(pod, { missing: DEFAULTS, withoutPodLevel: true });
}

/** CPU in thousandths, everything else in units. */
type Amounts = Map<string, number>;

function podAmounts(pod: Pod, options: PodRequestsOptions): Amounts {
  const { useStatus = false, missing, withoutPodLevel = false } = options;
  const { spec, status } = pod;
  const statuses = useStatus ? statusesByName(pod) : undefined;
  const infeasible =
    useStatus &&
    (status?.conditions ?? []).some(
      ({ type, reason }) => type === "PodResizePending" && reason === "Infeasible",
    );
  const ofContainer = (container: Container, isRunning: boolean): Amounts => {
    const requests = container.resources?.requests;
    const asked = numbersOf(requests);
    const known = isRunning ? statuses?.get(container.name) : undefined;
    const amounts =
      known?.resources === undefined || (!infeasible && holdsWhatIsAsked(known, requests))
        ? asked
        : largest([
            ...(infeasible ? [] : [asked]),
            numbersOf(known.resources.requests),
            numbersOf(known.allocatedResources),
          ]);
    for (const [name, amount] of missing ?? []) {
      if (!amounts.has(name)) amounts.set(name, amount);
    }
    return amounts;
  };
  const total = sumOf(spec.containers ?? [], (container) => ofContainer(container, true));
  if (spec.initContainers !== undefined) addInitContainers(spec.initContainers, total, ofContainer);
  if (!withoutPodLevel) setPodLevel(pod, total, useStatus, infeasible);
  if (spec.overhead !== undefined) addTo(total, numbersOf(spec.overhead));
  return total;
}

function sumOf(
  containers: readonly Container[],
  amountsOf: (container: Container) => Amounts,
): Amounts {
  const [first, ...others] = containers;
  const sum: Amounts = first === undefined ? new Map() : amountsOf(first);
  for (const container of others) addTo(sum, amountsOf(container));
  return sum;
}

/** Sidecars run beside the containers; of the other init containers the most demanding one counts. */
function addInitContainers(
  containers: readonly Container[],
  total: Amounts,
  ofContainer: (container: Container, isRunning: boolean) => Amounts,
): void {
  const sidecars: Amounts = new Map();
  const starting: Amounts = new Map();
  for (const container of containers) {
    const isSidecar = container.restartPolicy === "Always";
    const amounts = ofContainer(container, isSidecar);
    if (isSidecar) {
      addTo(total, amounts);
      addTo(sidecars, amounts);
      raiseTo(starting, sidecars);
    } else {
      addTo(amounts, sidecars);
      raiseTo(starting, amounts);
    }
  }
  raiseTo(total, starting);
}

/** The status repeats what the spec asks for, as that of every container that is not being resized. */
function holdsWhatIsAsked(
  { resources, allocatedResources }: ContainerStatus,
  requests: ResourceList | undefined,
): boolean {
  return isPartOf(resources?.requests, requests) && isPartOf(allocatedResources, requests);
}

function isPartOf(list: ResourceList | undefined, whole: ResourceList | undefined): boolean {
  for (const name in list) if (list[name] !== whole?.[name]) return false;
  return true;
}

function setPodLevel(
  { spec, status }: Pod,
  total: Amounts,
  useStatus: boolean,
  infeasible: boolean,
): void {
  if (spec.resources?.requests === undefined) return;
  const asked = numbersOf(spec.resources.requests);
  const held = status?.resources;
  const effective =
    useStatus && held !== undefined
      ? largest([
          ...(infeasible ? [] : [asked]),
          numbersOf(held.requests),
          numbersOf(status.allocatedResources),
        ])
      : asked;
  for (const name of asked.keys()) {
    if (isPodLevelResource(name)) total.set(name, effective.get(name) ?? 0);
  }
}

type ContainerStatus = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>[number];

function statusesByName({ status }: Pod): ReadonlyMap<string, ContainerStatus> {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return new Map(all.map((one) => [one.name, one]));
}

function numbersOf(list: ResourceList | undefined): Amounts {
  const amounts: Amounts = new Map();
  for (const name in list) {
    const quantity = quantityOf(list[name]!);
    amounts.set(name, name === "cpu" ? quantityMilliValue(quantity) : quantityValue(quantity));
  }
  return amounts;
}

function addTo(sum: Amounts, more: Amounts): void {
  for (const [name, amount] of more) sum.set(name, (sum.get(name) ?? 0) + amount);
}

function raiseTo(highest: Amounts, other: Amounts): void {
  for (const [name, amount] of other) {
    const known = highest.get(name);
    if (known === undefined || amount > known) highest.set(name, amount);
  }
}

function largest(all: readonly Amounts[]): Amounts {
  const result: Amounts = new Map();
  for (const amounts of all) raiseTo(result, amounts);
  return result;
}

function resourcesOf(amounts: Amounts): Resources {
  const resources = noResources();
  for (const [name, amount] of amounts) {
    if (name === "cpu") resources.milliCpu = amount;
    else if (name === "memory") resources.memory = amount;
    else if (name === "ephemeral-storage") resources.ephemeralStorage = amount;
    else if (isScalarResource(name)) {
      resources.scalars ??= new Map();
      resources.scalars.set(name, amount);
    }
  }
  return resources;
}

function sameAmounts(a: Resources["scalars"], b: Resources["scalars"]): boolean {
  if ((a?.size ?? 0) !== (b?.size ?? 0)) return false;
  for (const [name, amount] of a ?? []) if (b?.get(name) !== amount) return false;
  return true;
}
