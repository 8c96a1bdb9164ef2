/**
 * The scores of the default plugins, written from the documented formulas: they look at every node
 * and every pod for each question. The fast plugins are compared with them.
 */
import type { Node, Pod, TopologySpreadConstraint } from "#api/generated/core.v1.ts";
import type { ResourceClaim, ResourceSlice } from "#api/generated/resource.v1.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { quantityMilliValue, quantityOf } from "#api/meta/quantity.ts";

export interface SlowWorld {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly pods: ReadonlyMap<string, Pod>;
  readonly slices: ReadonlyMap<string, ResourceSlice>;
  readonly claims: ReadonlyMap<string, ResourceClaim>;
  /** What the strategies score, with weights. */
  readonly scored: Readonly<Partial<Record<Resource, number>>>;
}

/** An extended resource: device plugins offer it, or devices of the model `large` stand for it. */
export const GPU = "example.com/gpu";

export type Resource = "cpu" | "memory" | typeof GPU;

type Scorer = (pod: Pod, feasible: readonly Node[], world: SlowWorld) => readonly number[];

const HOST = "kubernetes.io/hostname";
const MEBIBYTE = 1024 * 1024;
/** In thousandths: what a container without a request counts as. */
const UNSET = { cpu: 100, memory: 200 * MEBIBYTE * 1_000, [GPU]: 0 } as const;

export const SLOW_SCORES: Readonly<Record<string, Scorer>> = {
  NodeResourcesFit: (pod, feasible, world) =>
    feasible.map((node) => {
      let [sum, weights] = [0, 0];
      for (const [name, weight] of scoredFor(pod, world)) {
        const { capacity, used } = stateOf(name, node, world, UNSET[name]);
        if (capacity === 0) continue;
        const after = used + (requestOf(pod, name) ?? UNSET[name]);
        sum += weight * (after > capacity ? 0 : Math.floor(((capacity - after) * 100) / capacity));
        weights += weight;
      }
      return weights === 0 ? 0 : Math.floor(sum / weights);
    }),

  NodeResourcesBalancedAllocation: (pod, feasible, world) => {
    const names = scoredFor(pod, world).map(([name]) => name);
    if (names.every((name) => (requestOf(pod, name) ?? 0) === 0)) return zeros(feasible);
    const evenness = (shares: readonly number[]): number => {
      const mean = shares.reduce((sum, one) => sum + one, 0) / shares.length;
      const variance = shares.reduce((sum, one) => sum + (one - mean) ** 2, 0) / shares.length;
      const deviation =
        shares.length === 2 ? Math.abs((shares[0]! - shares[1]!) / 2) : Math.sqrt(variance);
      return Math.trunc((1 - (shares.length < 2 ? 0 : deviation)) * 100);
    };
    return feasible.map((node) => {
      const states = names
        .map((name) => ({ ...stateOf(name, node, world, 0), asked: requestOf(pod, name) ?? 0 }))
        .filter(({ capacity }) => capacity > 0);
      const before = states.map(({ capacity, used }) => Math.min(1, used / capacity));
      const after = states.map(({ capacity, used, asked }) =>
        Math.min(1, (used + asked) / capacity),
      );
      return 50 + Math.trunc((50 + evenness(after) - evenness(before)) / 2);
    });
  },

  ImageLocality: (pod, feasible, { nodes }) => {
    const has = ({ status }: Node, image: string) =>
      (status?.images ?? []).find(({ names }) => names?.includes(image));
    const images = (pod.spec.containers ?? []).map(({ image = "" }) => image);
    return feasible.map((node) => {
      const sum = images.reduce((bytes, image) => {
        const spread = [...nodes.values()].filter((one) => has(one, image)).length / nodes.size;
        return bytes + Math.trunc((has(node, image)?.sizeBytes ?? 0) * spread);
      }, 0);
      const [least, most] = [23 * MEBIBYTE, 1_000 * MEBIBYTE * images.length];
      const within = Math.min(most, Math.max(least, sum));
      return Math.trunc((100 * (within - least)) / (most - least));
    });
  },

  TaintToleration: ({ spec }, feasible) => {
    const raw = feasible.map((node) =>
      (spec.tolerations ?? []).length > 0
        ? 0
        : (node.spec?.taints ?? []).filter(({ effect }) => effect === "PreferNoSchedule").length,
    );
    const most = Math.max(...raw);
    return raw.map((one) => (most === 0 ? 100 : 100 - Math.trunc((100 * one) / most)));
  },

  NodeAffinity: ({ spec }, feasible) => {
    const terms =
      spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const raw = feasible.map(({ metadata }) =>
      terms
        .filter(({ preference }) =>
          (preference.matchExpressions ?? []).every(({ key, values }) =>
            values?.includes(metadata.labels?.[key] ?? ""),
          ),
        )
        .reduce((sum, { weight }) => sum + weight, 0),
    );
    const most = Math.max(...raw);
    return raw.map((one) => (most === 0 ? 0 : Math.trunc((100 * one) / most)));
  },

  PodTopologySpread: spreadScores,
};

function spreadScores(pod: Pod, feasible: readonly Node[], world: SlowWorld): readonly number[] {
  const constraints = (pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === "ScheduleAnyway",
  );
  if (constraints.length === 0) return zeros(feasible);
  const hasKeys = (node: Node): boolean =>
    constraints.every(({ topologyKey }) => node.metadata.labels?.[topologyKey] !== undefined);
  const counted = feasible.filter(hasKeys);
  const raw = new Map(
    counted.map((node) => {
      const sum = constraints.reduce(
        (score, constraint) =>
          score + constraintScore(pod, constraint, node, counted, world, hasKeys),
        0,
      );
      return [node, Math.round(sum)];
    }),
  );
  const [least, most] = [Math.min(...raw.values()), Math.max(...raw.values())];
  return feasible.map((node) => {
    const own = raw.get(node);
    if (own === undefined) return 0;
    return most === 0 ? 100 : Math.trunc((100 * (most + least - own)) / most);
  });
}

function constraintScore(
  pod: Pod,
  { topologyKey, labelSelector, maxSkew, nodeTaintsPolicy }: TopologySpreadConstraint,
  node: Node,
  counted: readonly Node[],
  world: SlowWorld,
  hasKeys: (node: Node) => boolean,
): number {
  const selector = selectorOf(labelSelector);
  const matches = ({ metadata }: Pod): boolean =>
    selector.ok && matchesLabels(selector.value, metadata.labels);
  const domain = (one: Node): string => one.metadata.labels?.[topologyKey] ?? "";
  const isHost = topologyKey === HOST;
  const size = isHost ? counted.length : new Set(counted.map(domain)).size;
  const isIncluded = (one: Node): boolean =>
    hasKeys(one) &&
    domain(one) === domain(node) &&
    (nodeTaintsPolicy !== "Honor" ||
      (pod.spec.tolerations ?? []).length > 0 ||
      !(one.spec?.taints ?? []).some(({ effect }) => effect !== "PreferNoSchedule"));
  const nodes = isHost ? [node] : [...world.nodes.values()].filter(isIncluded);
  const count = nodes.flatMap((one) => podsOn(one, world)).filter(matches).length;
  return count * Math.log(size + 2) + (maxSkew - 1);
}

const zeros = (feasible: readonly Node[]): readonly number[] => feasible.map(() => 0);

function podsOn({ metadata }: Node, { pods }: SlowWorld): readonly Pod[] {
  return [...pods.values()].filter(({ spec }) => spec.nodeName === metadata.name);
}

/** Extended resources count for pods that ask for them only. */
function scoredFor(pod: Pod, { scored }: SlowWorld): readonly (readonly [Resource, number])[] {
  return (Object.entries(scored) as [Resource, number][]).filter(
    ([name]) => name !== GPU || (requestOf(pod, name) ?? 0) > 0,
  );
}

/** What the node has of the resource and what is in use, in thousandths. */
function stateOf(
  name: Resource,
  node: Node,
  world: SlowWorld,
  unset: number,
): { readonly capacity: number; readonly used: number } {
  const capacity = allocatableOf(node, name);
  if (name === GPU && capacity === 0) return devicesOf(node, world);
  const used = podsOn(node, world).reduce((sum, one) => sum + (requestOf(one, name) ?? unset), 0);
  return { capacity, used };
}

function devicesOf(node: Node, { slices, claims }: SlowWorld) {
  let [capacity, used] = [0, 0];
  for (const { spec } of slices.values()) {
    const zones = spec.nodeSelector?.nodeSelectorTerms?.[0]?.matchExpressions?.[0]?.values ?? [];
    const isHere =
      spec.nodeName === node.metadata.name ||
      zones.includes(node.metadata.labels?.["topology.kubernetes.io/zone"] ?? "");
    for (const { name, attributes } of isHere ? (spec.devices ?? []) : []) {
      if (attributes?.model?.string !== "large") continue;
      capacity += 1_000;
      const isUsed = [...claims.values()].some(({ status }) =>
        (status?.allocation?.devices.results ?? []).some(
          (result) =>
            result.pool === spec.pool.name && result.device === name && result.adminAccess !== true,
        ),
      );
      if (isUsed) used += 1_000;
    }
  }
  return { capacity, used };
}

/** In thousandths; undefined if the container asks for none. */
function requestOf({ spec }: Pod, name: Resource): number | undefined {
  const quantity = spec.containers?.[0]?.resources?.requests?.[name];
  return quantity === undefined ? undefined : quantityMilliValue(quantityOf(quantity));
}

function allocatableOf({ status }: Node, name: Resource): number {
  return quantityMilliValue(quantityOf(status?.allocatable?.[name] ?? "0"));
}
