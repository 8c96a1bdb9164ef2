/** What is doubtful in where a pod wants to run: outdated labels of nodes, selectors that match nothing. */
import type {
  Affinity,
  NodeAffinity,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodSpec,
  TopologySpreadConstraint,
} from "#api/generated/core.v1.ts";
import { isLabelValue } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

/** Labels of nodes that have got other names. */
const DEPRECATED_NODE_LABELS: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

const NO_SELECTOR = "a null labelSelector results in matching no pod";
const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

export function nodeLabelDeprecation(label: string): string | undefined {
  return Object.hasOwn(DEPRECATED_NODE_LABELS, label) ? DEPRECATED_NODE_LABELS[label] : undefined;
}

export function placementWarnings(spec: PodSpec, path: Path, warnings: string[]): void {
  const { nodeSelector, affinity, topologySpreadConstraints } = spec;
  for (const label in nodeSelector) {
    const message = nodeLabelDeprecation(label);
    if (message === undefined) continue;
    warnings.push(`${path.child("nodeSelector").key(label)}: ${message}`);
  }
  if (affinity?.nodeAffinity !== undefined) {
    nodeAffinityWarnings(affinity.nodeAffinity, path.child("affinity", "nodeAffinity"), warnings);
  }
  if (topologySpreadConstraints !== undefined) {
    spreadWarnings(topologySpreadConstraints, path.child("topologySpreadConstraints"), warnings);
  }
}

function nodeAffinityWarnings(
  { [REQUIRED]: needed, [PREFERRED]: wished = [] }: NodeAffinity,
  path: Path,
  warnings: string[],
): void {
  for (const [i, term] of (needed?.nodeSelectorTerms ?? []).entries()) {
    const at = path.child(REQUIRED, "nodeSelectorTerms").index(i);
    warnings.push(...nodeTermWarnings(term, false, at));
  }
  for (const [i, { preference }] of wished.entries()) {
    const at = path.child(PREFERRED).index(i).child("preference");
    warnings.push(...nodeTermWarnings(preference, true, at));
  }
}

function spreadWarnings(
  constraints: readonly TopologySpreadConstraint[],
  path: Path,
  warnings: string[],
): void {
  for (const [i, constraint] of constraints.entries()) {
    const { topologyKey, labelSelector } = constraint;
    const at = path.index(i);
    const message = nodeLabelDeprecation(topologyKey);
    if (message !== undefined) {
      warnings.push(`${at.child("topologyKey")}: ${topologyKey} is ${message}`);
    }
    if (labelSelector === undefined) {
      warnings.push(`${at.child("labelSelector")}: ${NO_SELECTOR}`);
    }
  }
}

/** Wishes may name impossible values, since they do no harm; so they are only warned of. */
export function nodeTermWarnings(
  { matchExpressions = [] }: NodeSelectorTerm,
  checkValues: boolean,
  path: Path,
): string[] {
  return matchExpressions.flatMap(({ key, values = [] }, i) => {
    const at = path.child("matchExpressions").index(i);
    const message = nodeLabelDeprecation(key);
    const warnings = message === undefined ? [] : [`${at.child("key")}: ${key} is ${message}`];
    if (!checkValues) return warnings;
    for (const [j, value] of values.entries()) {
      for (const fault of isLabelValue(value)) {
        warnings.push(`${at.child("values").index(j)}: ${value} is invalid, ${fault}`);
      }
    }
    return warnings;
  });
}

export function podAffinityWarnings(affinity: Affinity, path: Path, warnings: string[]): void {
  const check = ({ labelSelector }: PodAffinityTerm, at: Path): void => {
    if (labelSelector === undefined) warnings.push(`${at.child("labelSelector")}: ${NO_SELECTOR}`);
  };
  for (const field of ["podAffinity", "podAntiAffinity"] as const) {
    const { [REQUIRED]: needed = [], [PREFERRED]: wished = [] } = affinity[field] ?? {};
    const at = path.child("affinity", field);
    for (const [i, term] of needed.entries()) check(term, at.child(REQUIRED).index(i));
    for (const [i, { podAffinityTerm }] of wished.entries()) {
      check(podAffinityTerm, at.child(PREFERRED).index(i).child("podAffinityTerm"));
    }
  }
}
