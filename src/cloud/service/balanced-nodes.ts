/** Which nodes a load balancer sends traffic to, and which changes of a node change that. */
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import type { Caches, Change } from "#runtime/controller.ts";

const EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
/** Set by the cluster autoscaler before it takes a node away. */
const TO_BE_DELETED_TAINT = "ToBeDeletedByClusterAutoscaler";
/** What Go's ParseBool takes for false. */
const FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);

export interface BalancedNodes {
  readonly nodes: readonly Node[];
  /** Two sets with the same names and provider IDs have the same one. */
  readonly fingerprint: string;
}

/**
 * Nodes that are not being deleted, not excluded by label and not about to be removed by the
 * autoscaler. Readiness does not matter: load balancers check the health of nodes themselves.
 */
function balancedNodesOf(all: Iterable<Node>): BalancedNodes {
  const nodes = [...all]
    .filter((node) => node.metadata.deletionTimestamp === undefined)
    .filter((node) => isIncluded(node) && !isToBeDeleted(node))
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const fingerprint = nodes.map((n) => `${nameOf(n)}=${n.spec.providerID ?? ""}`).join(",");
  return { nodes, fingerprint };
}

/** Whether a change of a node affects load balancers. */
export function changesBalancing({ old, next }: Change<Node>): boolean {
  if (old === undefined || next === undefined) return true;
  return isIncluded(old) !== isIncluded(next) || old.spec.providerID !== next.spec.providerID;
}

/** Computes the set once for all Services, until a node changes. */
export class BalancedNodesMemo {
  #current: BalancedNodes | undefined;

  read(caches: Caches): BalancedNodes {
    this.#current ??= balancedNodesOf(caches(nodeKind).list());
    return this.#current;
  }

  invalidate(): void {
    this.#current = undefined;
  }
}

/** A label whose value is neither true nor false excludes the node. */
function isIncluded({ metadata }: Node): boolean {
  const value = metadata.labels?.[EXCLUDE_LABEL];
  return value === undefined || FALSE.has(value);
}

function isToBeDeleted({ spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT) ?? false;
}

function nameOf({ metadata }: Node): string {
  return metadata.name ?? "";
}
