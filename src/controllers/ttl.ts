/**
 * Annotates each node with the time for which its kubelet may cache a Secret or ConfigMap: the longer
 * the more nodes there are. The boundaries have a hysteresis, so that a node more or less does not
 * change the value for all.
 */

import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import {
  type Caches,
  type Change,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { patch } from "#runtime/writes.ts";

const TTL = "node.alpha.kubernetes.io/ttl";

/** From `nodesMin` to `nodesMax` nodes the value is kept; the ranges overlap. */
const STEPS: readonly { nodesMin: number; nodesMax: number; ttlSeconds: number }[] = [
  { nodesMin: 0, nodesMax: 100, ttlSeconds: 0 },
  { nodesMin: 90, nodesMax: 500, ttlSeconds: 15 },
  { nodesMin: 450, nodesMax: 1000, ttlSeconds: 30 },
  { nodesMin: 900, nodesMax: 2000, ttlSeconds: 60 },
  { nodesMin: 1800, nodesMax: Number.POSITIVE_INFINITY, ttlSeconds: 300 },
];

export interface TtlState {
  readonly node: Node;
  readonly nodes: number;
  /** What nodes have now: this one or, if it is new, any other. */
  readonly current: string | undefined;
}

export const ttlController = defineController<TtlState | undefined>({
  name: "ttl-controller",
  rule: "the TTL annotation of nodes follows the size of the cluster",
  feeds: [{ kind: nodeKind, keys: ownKey, keysOfChange }],
  observe,
  decide: (state) => (state === undefined ? idle : decide(state)),
});

/** All nodes, when one that came or went makes the cluster cross a boundary. */
function keysOfChange({ old, next }: Change<Node>, caches: Caches): readonly Key[] {
  const { size } = caches(nodeKind);
  const crosses =
    old === undefined
      ? STEPS.some(({ nodesMax }) => nodesMax === size - 1)
      : next === undefined && STEPS.some(({ nodesMin }) => nodesMin === size + 1);
  if (crosses) return [...caches(nodeKind).list()].flatMap(ownKey);
  return next === undefined ? [] : ownKey(next);
}

function observe(caches: Caches, { name }: Key): TtlState | undefined {
  const nodes = caches(nodeKind);
  const node = nodes.get(undefined, name);
  if (node === undefined) return undefined;
  const own = node.metadata.annotations?.[TTL];
  return { node, nodes: nodes.size, current: own ?? anyTtl(nodes.list()) };
}

function anyTtl(nodes: Iterable<Node>): string | undefined {
  for (const { metadata } of nodes) {
    const ttl = metadata.annotations?.[TTL];
    if (ttl !== undefined) return ttl;
  }
  return undefined;
}

export function decide({ node, nodes, current }: TtlState): Outcome {
  const wanted = String(ttlFor(nodes, current));
  if (node.metadata.annotations?.[TTL] === wanted) return idle;
  const changes = { metadata: { annotations: { [TTL]: wanted } } };
  return { writes: [patch(nodeKind, node, "strategic", changes)] };
}

function ttlFor(nodes: number, current: string | undefined): number {
  let at = Math.max(
    0,
    STEPS.findIndex(({ ttlSeconds }) => String(ttlSeconds) === current),
  );
  while (nodes > STEPS[at]!.nodesMax) at++;
  while (nodes < STEPS[at]!.nodesMin) at--;
  return STEPS[at]!.ttlSeconds;
}
