/**
 * The scores of the default plugins, written from the documented formulas: they look at every node
 * and every pod for each question. The fast plugins are compared with them.
 */
import type { Node, Pod, TopologySpreadConstraint } from "#api/generated/core.v1.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { quantityMilliValue, quantityOf } from "#api/meta/quantity.ts";

export interface SlowWorld {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly pods: ReadonlyMap<string, Pod>;
}

type Scorer = (pod: Pod, feasible: readonly Node[], world: SlowWorld) => readonly number[];

const HOST = "kubernetes.io/hostname";
const MEBIBYTE = 1024 * 1024;
/** In thousandths: what a container without a request counts as. */
const UNSET = { cpu: 100, memory: 200 * MEBIBYTE * 1_000 } as const;

export const SLOW_SCORES: Readonly<Record<string, Scorer>> = {
  NodeResourcesFit: (pod, feasible, world) =>
    feasible.map((node) => {
      const shares = (["cpu", "memory"] as const).map((name) => {
        const capacity = allocatableOf(node, name);
        const all = [...podsOn(node, world), pod];
        const used = all.reduce((sum, one) => sum + (requestOf(one, name) ?? UNSET[name]), 0);
        return used > capacity ? 0 : Math.floor(((capacity - used) * 100) / capacity);
      });
      return Math.floor((shares[0]! + shares[1]!) / 2);
    }),

  NodeResourcesBalancedAllocation: (pod, feasible, world) => {
    if ((requestOf(pod, "cpu") ?? 0) + (requestOf(pod, "memory") ?? 0) === 0)
      return zeros(feasible);
    const evenness = (node: Node, pods: readonly Pod[]): number => {
      const [cpu = 0, memory = 0] = (["cpu", "memory"] as const).map((name) => {
        const used = pods.reduce((sum, one) => sum + (requestOf(one, name) ?? 0), 0);
        return Math.min(1, used / allocatableOf(node, name));
      });
      return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * 100);
    };
    return feasible.map((node) => {
      const pods = podsOn(node, world);
      return 50 + Math.trunc((50 + evenness(node, [...pods, pod]) - evenness(node, pods)) / 2);
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

/** In thousandths; undefined if the container asks for none. */
function requestOf({ spec }: Pod, name: "cpu" | "memory"): number | undefined {
  const quantity = spec.containers?.[0]?.resources?.requests?.[name];
  return quantity === undefined ? undefined : quantityMilliValue(quantityOf(quantity));
}

function allocatableOf({ status }: Node, name: "cpu" | "memory"): number {
  return quantityMilliValue(quantityOf(status?.allocatable?.[name] ?? "0"));
}
