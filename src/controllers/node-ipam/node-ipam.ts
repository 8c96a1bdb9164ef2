/**
 * Gives every node a range of addresses for its pods, one of each family. What is taken is read from
 * the nodes, so that nothing is lost with the process; free ranges are given in turn, so that one
 * that has just become free rests for a while.
 */

import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import {
  type Change,
  type Controller,
  defineController,
  type EventNote,
  type Key,
  type Outcome,
} from "#runtime/controller.ts";
import { noted, patch, type Write } from "#runtime/writes.ts";
import { type Pool, partAt, partsWithin } from "./pool.ts";

/** All nodes are looked at together, so that no range is given twice. */
const ALL: Key = { name: "nodes" };

export interface NodeIpamOptions {
  readonly pools: readonly Pool[];
  /** Ranges that are Services', and never nodes'. */
  readonly reserved: readonly string[];
}

export interface IpamState {
  readonly nodes: readonly Node[];
  /** Where to look next, in each pool. */
  readonly cursors: readonly number[];
}

export function nodeIpam(options: NodeIpamOptions): Controller<IpamState, readonly number[]> {
  return defineController<IpamState, readonly number[]>({
    name: "node-ipam-controller",
    rule: "a node without a pod range gets a free one",
    component: "cidrAllocator",
    workers: 1,
    feeds: [{ kind: nodeKind, keys: () => [ALL], keysOfChange }],
    observe: (caches, _key, _reader, remembered) => ({
      nodes: [...caches(nodeKind).list()],
      cursors: remembered ?? options.pools.map(() => 0),
    }),
    decide: (state) => decide(state, options),
  });
}

function keysOfChange({ next, old }: Change<Node>): readonly Key[] {
  return next !== undefined && old !== undefined && hasRange(next) === hasRange(old) ? [] : [ALL];
}

function hasRange({ spec }: Node): boolean {
  return (spec.podCIDRs ?? []).length > 0;
}

function decide(
  { nodes, cursors }: IpamState,
  options: NodeIpamOptions,
): Outcome<readonly number[]> {
  const waiting = nodes.filter(
    (node) => !hasRange(node) && node.metadata.deletionTimestamp === undefined,
  );
  if (waiting.length === 0) return {};
  const taken = nodes.flatMap(({ spec }) => spec.podCIDRs ?? []);
  const allocators = options.pools.map(
    (pool, i) => new Allocator(pool, [...options.reserved, ...taken], cursors[i] ?? 0),
  );
  const writes: Write[] = [];
  const events: EventNote[] = [];
  for (const node of waiting) {
    if (allocators.some((allocator) => allocator.peek() === undefined)) {
      events.push(statusChange(node, "CIDRNotAvailable"));
      continue;
    }
    const podCIDRs = allocators.map((allocator) => allocator.next());
    const write = patch(nodeKind, node, "merge", { spec: { podCIDR: podCIDRs[0], podCIDRs } });
    writes.push(noted(write, { onRefused: statusChange(node, "CIDRAssignmentFailed") }));
  }
  return { writes: [writes], events, remember: allocators.map(({ cursor }) => cursor) };
}

function statusChange({ metadata: { name = "", uid = "" } }: Node, reason: string): EventNote {
  return {
    about: { apiVersion: "v1", kind: "Node", name, uid },
    type: "Normal",
    reason,
    message: `Node ${name} status is now: ${reason}`,
  };
}

/** Hands out the free parts of a pool, from the cursor on and around. */
class Allocator {
  cursor: number;
  readonly #pool: Pool;
  readonly #taken = new Set<number>();

  constructor(pool: Pool, taken: readonly string[], cursor: number) {
    this.#pool = pool;
    this.cursor = cursor;
    for (const cidr of taken) {
      const [first, last] = partsWithin(pool, cidr) ?? [0, -1];
      for (let i = first; i <= last; i++) this.#taken.add(i);
    }
  }

  peek(): number | undefined {
    const { count } = this.#pool;
    for (let tried = 0; tried < count; tried++) {
      const index = (this.cursor + tried) % count;
      if (!this.#taken.has(index)) return index;
    }
    return undefined;
  }

  next(): string {
    const index = this.peek();
    if (index === undefined) throw new Error("no range is left");
    this.#taken.add(index);
    this.cursor = (index + 1) % this.#pool.count;
    return partAt(this.#pool, index);
  }
}
