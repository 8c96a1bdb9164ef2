/** Which nodes a pod asks for: by its node selector and by its required node affinity. */
import type {
  Node,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
} from "#api/generated/core.v1.ts";

/** Whether the node is among those that the pod may be scheduled to. */
export function wantsNode({ nodeSelector, affinity }: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) {
    return false;
  }
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  return (required.nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, node));
}

/** Everything in a term must hold; one that says nothing matches nothing. */
export function matchesNodeSelectorTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { metadata }: Pick<Node, "metadata">,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((r) => meets(r, metadata.labels?.[r.key])) &&
    matchFields.every((r) => meets(r, r.key === "metadata.name" ? metadata.name : undefined))
  );
}

function meets({ operator, values = [] }: NodeSelectorRequirement, value?: string): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt": {
      const [actual, limit] = [integer(value), integer(values[0])];
      if (actual === undefined || limit === undefined) return false;
      return operator === "Gt" ? actual > limit : actual < limit;
    }
    default:
      return false;
  }
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[-+]?\d+$/.test(text)
    ? BigInt(text.replace(/^\+/, ""))
    : undefined;
}
