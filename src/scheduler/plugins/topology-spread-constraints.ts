/** The topology spread constraints of a pod: its own, or the defaults of the profile. */
import type { Pod, TopologySpreadConstraint as Spec } from "#api/generated/core.v1.ts";
import { wantsNode } from "#api/kinds/core/v1/node/node-selection.ts";
import {
  formatSelector,
  matchesLabels,
  type Selector,
  selectorFromLabels,
  selectorOf,
} from "#api/meta/label-selector.ts";
import type { Handle } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { CounterSpec } from "#scheduler/snapshot/topology-counter.ts";
import { defaultSelector } from "./default-selector.ts";
import { isEachTolerated } from "./taint-toleration.ts";

export interface Constraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly selector: Selector;
  readonly honorsAffinity: boolean;
  readonly honorsTaints: boolean;
}

export interface SpreadDefaults {
  readonly constraints: readonly Spec[];
  /** The system's defaults, under which nodes need not have every topology key. */
  readonly isSystem: boolean;
}

export const SYSTEM_DEFAULTS: SpreadDefaults = {
  constraints: [
    { topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway", maxSkew: 3 },
    { topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway", maxSkew: 5 },
  ],
  isSystem: true,
};

export function constraintsOf(
  { pod }: PodInfo,
  action: Spec["whenUnsatisfiable"],
  defaults: SpreadDefaults,
  handle: Pick<Handle, "objects">,
): readonly Constraint[] {
  const own = pod.spec.topologySpreadConstraints ?? [];
  if (own.length > 0)
    return own.filter((one) => one.whenUnsatisfiable === action).map((c) => read(c, pod));
  const chosen = defaults.constraints.filter((one) => one.whenUnsatisfiable === action);
  if (chosen.length === 0) return [];
  const selector = defaultSelector(pod, handle);
  if (selector.length === 0) return [];
  return chosen.map((constraint) => ({ ...read(constraint, pod), selector }));
}

/** Counts the pods that a constraint selects on the nodes that it includes. */
export function spreadCounter(
  constraint: Constraint,
  { pod, namespace }: PodInfo,
  requiredKeys: readonly string[],
): CounterSpec {
  const { topologyKey, selector, honorsAffinity, honorsTaints } = constraint;
  const { nodeSelector, affinity, tolerations = [] } = pod.spec;
  const nodes = honorsAffinity
    ? JSON.stringify([
        nodeSelector ?? 0,
        affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? 0,
      ])
    : "";
  const taints = honorsTaints ? JSON.stringify(tolerations) : "";
  const wantsAll = nodes === "" || nodes === "[0,0]";
  const selected = selector === "nothing" ? "-" : `{${formatSelector(selector)}}`;
  return {
    key: `spread|${namespace}|${topologyKey}|${requiredKeys.join(",")}|${selected}|${nodes}|${taints}`,
    topologyKey,
    counts: (pods) =>
      !pods.isTerminating &&
      pods.namespace === namespace &&
      selector.length > 0 &&
      matchesLabels(selector, pods.labels),
    includes: (node) =>
      requiredKeys.every((key) => node.labels[key] !== undefined) &&
      (wantsAll || wantsNode(pod.spec, node.node!)) &&
      (!honorsTaints || isEachTolerated(node.hardTaints, tolerations)),
  };
}

export function includesNode(
  { honorsAffinity, honorsTaints }: Constraint,
  { pod }: PodInfo,
  node: NodeInfo,
): boolean {
  if (honorsAffinity && !wantsNode(pod.spec, node.node!)) return false;
  return !honorsTaints || isEachTolerated(node.hardTaints, pod.spec.tolerations ?? []);
}

function read(spec: Spec, { metadata }: Pod): Constraint {
  const { maxSkew, minDomains = 1, topologyKey, nodeAffinityPolicy, nodeTaintsPolicy } = spec;
  const parsed = selectorOf(spec.labelSelector);
  let selector = parsed.ok ? parsed.value : "nothing";
  const labels = metadata.labels ?? {};
  const keys = (spec.matchLabelKeys ?? []).filter((key) => labels[key] !== undefined);
  if (keys.length > 0 && selector !== "nothing") {
    const more = selectorFromLabels(Object.fromEntries(keys.map((key) => [key, labels[key]!])));
    selector = more === "nothing" ? selector : [...selector, ...more];
  }
  return {
    topologyKey,
    maxSkew,
    minDomains,
    selector,
    honorsAffinity: (nodeAffinityPolicy ?? "Honor") === "Honor",
    honorsTaints: nodeTaintsPolicy === "Honor",
  };
}
