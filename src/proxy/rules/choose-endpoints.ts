/**
 * Which endpoints of a Service port this node sends traffic to.
 *
 * 1. Traffic policy Cluster: ready endpoints, narrowed by hints for this node, else for its zone. Hints
 *    count only if every ready endpoint has one and one of them names this node (or its zone).
 * 2. Traffic policy Local: ready endpoints on this node.
 * 3. Each falls back to endpoints that are terminating and still serving.
 */
import type { Endpoint } from "./endpoint.ts";

export interface EndpointQuery {
  readonly usesCluster: boolean;
  readonly usesLocal: boolean;
  readonly nodeName: string;
  readonly zone: string;
}

export interface ChosenEndpoints {
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** Whether any node of the cluster has an endpoint that could answer. */
  readonly hasAny: boolean;
}

export function chooseEndpoints(
  endpoints: readonly Endpoint[],
  query: EndpointQuery,
): ChosenEndpoints {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const draining = endpoints.filter(
    ({ isReady, isServing, isTerminating }) => !isReady && isServing && isTerminating,
  );
  const hinted = hintedFor(ready, query);
  const cluster = !query.usesCluster ? [] : hinted.length > 0 ? hinted : draining;
  const localReady = ready.filter(({ isLocal }) => isLocal);
  const localDraining = draining.filter(({ isLocal }) => isLocal);
  const local = !query.usesLocal ? [] : localReady.length > 0 ? localReady : localDraining;
  return { cluster, local, hasAny: ready.length > 0 || draining.length > 0 };
}

function hintedFor(
  ready: readonly Endpoint[],
  { nodeName, zone }: EndpointQuery,
): readonly Endpoint[] {
  const forNode = ready.filter(({ nodeHints }) => nodeHints.includes(nodeName));
  if (forNode.length > 0 && ready.every(({ nodeHints }) => nodeHints.length > 0)) return forNode;
  const forZone = ready.filter(({ zoneHints }) => zoneHints.includes(zone));
  if (forZone.length > 0 && ready.every(({ zoneHints }) => zoneHints.length > 0)) return forZone;
  return ready;
}
