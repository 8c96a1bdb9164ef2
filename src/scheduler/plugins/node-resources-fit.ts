/**
 * Keeps pods off nodes without room for what they request; scores nodes by the configured strategy
 * (LeastAllocated unless configured otherwise).
 */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { DeviceClass } from "#api/generated/resource.v1.ts";
import { isExtendedResource } from "#api/kinds/core/v1/resources/resource-names.ts";
import {
  definePlugin,
  FITS,
  type PluginFactory,
  type Rejected,
  rejected,
  unresolvable,
  type Verdict,
} from "#scheduler/plugin.ts";
import { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import {
  amountOf,
  podResources,
  type Resources,
  scoredResources,
} from "#scheduler/snapshot/resources.ts";
import { mayBeDevices, standsForAny } from "./dynamic-resources/device-class-resources.ts";
import type { DeviceState, DeviceStateOf } from "./dynamic-resources/device-state.ts";
import { dependsOnNodeOnly } from "./node-amounts.ts";
import { createScorer, type ScoringStrategy } from "./resource-scoring.ts";

export interface NodeResourcesFitArgs {
  readonly ignoredResources?: readonly string[];
  readonly ignoredResourceGroups?: readonly string[];
  readonly scoringStrategy?: ScoringStrategy;
}

const DEFAULT_STRATEGY: ScoringStrategy = {
  type: "LeastAllocated",
  resources: [
    { name: "cpu", weight: 1 },
    { name: "memory", weight: 1 },
  ],
};

export const nodeResourcesFit = (devices: DeviceStateOf): PluginFactory => ({
  name: "NodeResourcesFit",
  create: (args, handle) => createFit((args ?? {}) as NodeResourcesFitArgs, () => devices(handle)),
});

/** The resources of which a node has too little for the pod, with the amounts. */
export interface Shortage {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

function createFit(args: NodeResourcesFitArgs, devices: () => DeviceState) {
  const verdicts = new InternedVerdicts();
  const checks = (pod: PodInfo) => scalarChecks(pod.requests, args, devices);
  const fitsEmpty = (pod: PodInfo, node: Node): boolean =>
    fitsEmptyNode({ requests: pod.requests, scalars: checks(pod) }, node);
  const strategy = args.scoringStrategy ?? DEFAULT_STRATEGY;
  const scorer = createScorer(strategy, (name, node) => devices().totalOf(name, node));
  return definePlugin<FitState, Resources>({
    name: "NodeResourcesFit",
    filtersByNodeOnly: true,
    scoresByNodeOnly: dependsOnNodeOnly(strategy.resources.map(({ name }) => name)),
    preFilter: (pod) => ({
      skip: false,
      state: { requests: pod.requests, scalars: checks(pod) },
    }),
    filter: (state, _pod, node) => checkFit(state, node, verdicts),
    preScore: (pod) => ({ skip: false, state: scoredResources(pod.pod) }),
    score: (requests, _pod, node) => scorer(requests, node),
    wakeOn: [
      { event: "pod-deleted", wakes: (_pod, deleted) => holdsRoom(deleted) },
      { event: "pod-scaled-down", wakes: (pod, next, old) => isScaledDown(pod, next, old) },
      { event: "own-scaled-down" },
      { event: "node-added", wakes: (pod, node) => fitsEmpty(pod, node) },
      {
        event: "node-allocatable-changed",
        wakes: (pod, node, old) =>
          fitsEmpty(pod, node) && (old === undefined || hasGrown(pod, node, old)),
      },
      { event: "device-class-added", wakes: asksForClass },
      { event: "device-class-changed", wakes: asksForClass },
    ],
  });
}

interface FitState {
  readonly requests: Resources;
  readonly scalars: readonly ScalarCheck[];
}

interface ScalarCheck {
  readonly name: string;
  readonly amount: number;
  /** DynamicResources looks after it where no device plugin offers it. */
  readonly isBackedByDevices: boolean;
}

function scalarChecks(
  { scalars }: Resources,
  { ignoredResources = [], ignoredResourceGroups = [] }: NodeResourcesFitArgs,
  devices: () => DeviceState,
): FitState["scalars"] {
  if (scalars === undefined) return NO_CHECKS;
  const isIgnored = (name: string): boolean =>
    isExtendedResource(name) &&
    (ignoredResources.includes(name) || ignoredResourceGroups.includes(name.split("/")[0]!));
  return [...scalars]
    .filter(([name, amount]) => amount !== 0 && !isIgnored(name))
    .map(([name, amount]) => ({
      ...{ name, amount },
      isBackedByDevices: mayBeDevices(name) && devices().classes.classOf(name) !== undefined,
    }));
}

const NO_CHECKS: FitState["scalars"] = [];

function asksForClass({ requests }: PodInfo, deviceClass: DeviceClass): boolean {
  return standsForAny(deviceClass, requests.scalars?.keys());
}

/** Bits of the resources that are short, and of those that the empty node does not have either. */
const PODS = 1;
const CPU = 2;
const MEMORY = 4;
const STORAGE = 8;

function checkFit(
  { requests, scalars }: FitState,
  node: NodeInfo,
  verdicts: InternedVerdicts,
): Verdict {
  const { allocatable, requested } = node;
  let short = 0;
  let isBeyond = false;
  if (node.pods.size + 1 > node.allowedPods) short |= PODS;
  if (requests.milliCpu > 0 && requests.milliCpu > allocatable.milliCpu - requested.milliCpu) {
    short |= CPU;
    isBeyond ||= requests.milliCpu > allocatable.milliCpu;
  }
  if (requests.memory > 0 && requests.memory > allocatable.memory - requested.memory) {
    short |= MEMORY;
    isBeyond ||= requests.memory > allocatable.memory;
  }
  const storage = requests.ephemeralStorage;
  if (storage > 0 && storage > allocatable.ephemeralStorage - requested.ephemeralStorage) {
    short |= STORAGE;
    isBeyond ||= storage > allocatable.ephemeralStorage;
  }
  if (scalars.length === 0) return short === 0 ? FITS : verdicts.of(short, NO_NAMES, isBeyond);
  const names: string[] = [];
  for (const { name, amount, isBackedByDevices } of scalars) {
    const capacity = allocatable.scalars?.get(name) ?? 0;
    if (isBackedByDevices && capacity === 0) continue;
    if (amount <= capacity - (requested.scalars?.get(name) ?? 0)) continue;
    names.push(name);
    isBeyond ||= amount > capacity;
  }
  return short === 0 && names.length === 0 ? FITS : verdicts.of(short, names, isBeyond);
}

const NO_NAMES: readonly string[] = [];

/** Equal verdicts are one object, which makes counting them cheap. */
class InternedVerdicts {
  readonly #known = new Map<string, Rejected>();

  of(short: number, names: readonly string[], isBeyond: boolean): Rejected {
    const key = `${short}${isBeyond ? "!" : "."}${names.join(",")}`;
    let verdict = this.#known.get(key);
    if (verdict !== undefined) return verdict;
    const reasons = [
      ...((short & PODS) !== 0 ? ["Too many pods"] : []),
      ...((short & CPU) !== 0 ? ["Insufficient cpu"] : []),
      ...((short & MEMORY) !== 0 ? ["Insufficient memory"] : []),
      ...((short & STORAGE) !== 0 ? ["Insufficient ephemeral-storage"] : []),
      ...names.map((name) => `Insufficient ${name}`),
    ];
    verdict = isBeyond ? unresolvable(...reasons) : rejected(...reasons);
    if (this.#known.size >= VERDICTS_MAX) this.#known.clear();
    this.#known.set(key, verdict);
    return verdict;
  }
}

const VERDICTS_MAX = 1_000;

/** What the node lacks for the pod, for explanations. */
export function shortagesOf(pod: PodInfo, node: NodeInfo): Shortage[] {
  const names = ["cpu", "memory", "ephemeral-storage", ...(pod.requests.scalars?.keys() ?? [])];
  const shortages: Shortage[] = [];
  if (node.pods.size + 1 > node.allowedPods) {
    shortages.push({
      resource: "pods",
      requested: 1,
      used: node.pods.size,
      capacity: node.allowedPods,
    });
  }
  for (const resource of names) {
    const requested = amountOf(pod.requests, resource);
    const used = amountOf(node.requested, resource);
    const capacity = amountOf(node.allocatable, resource);
    if (requested > 0 && requested > capacity - used) {
      shortages.push({ resource, requested, used, capacity });
    }
  }
  return shortages;
}

function holdsRoom({ spec, status }: Pod): boolean {
  return (spec.nodeName ?? "") !== "" || (status?.nominatedNodeName ?? "") !== "";
}

function isScaledDown({ requests }: PodInfo, next: Pod, old: Pod | undefined): boolean {
  if (old === undefined || (next.spec.nodeName ?? "") === "") return false;
  const [before, after] = [
    podResources(old, { useStatus: true }),
    podResources(next, { useStatus: true }),
  ];
  const names = ["cpu", "memory", "ephemeral-storage", ...(requests.scalars?.keys() ?? [])];
  return names.some(
    (name) => amountOf(requests, name) > 0 && amountOf(before, name) > amountOf(after, name),
  );
}

function fitsEmptyNode(state: FitState, node: Node): boolean {
  const info = new NodeInfo(node.metadata.name ?? "");
  info.setNode(node);
  return checkFit(state, info, new InternedVerdicts()).fits;
}

function hasGrown({ requests }: PodInfo, next: Node, old: Node): boolean {
  const [after, before] = [new NodeInfo(""), new NodeInfo("")];
  after.setNode(next);
  before.setNode(old);
  if (after.allowedPods > before.allowedPods) return true;
  const names = ["cpu", "memory", "ephemeral-storage", ...(requests.scalars?.keys() ?? [])];
  return names.some(
    (name) =>
      amountOf(requests, name) > 0 &&
      amountOf(after.allocatable, name) > amountOf(before.allocatable, name),
  );
}
