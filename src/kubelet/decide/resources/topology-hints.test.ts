import assert from "node:assert/strict";
import { test } from "vitest";
import { numaMask } from "./numa-mask.ts";
import { type MergeOptions, mergeHints, type TopologyHint } from "./topology-hints.ts";

const hint = (nodes: readonly number[] | undefined, preferred = true): TopologyHint => ({
  affinity: nodes === undefined ? undefined : numaMask(nodes),
  preferred,
});
const either = [hint([0]), hint([1]), hint([0, 1], false)];
const rows: {
  readonly name: string;
  readonly policy: MergeOptions["policy"];
  readonly hints: readonly (readonly TopologyHint[] | undefined)[];
  readonly want: TopologyHint;
  readonly admitted: boolean;
}[] = [
  {
    name: "no preference at all is all nodes",
    policy: "restricted",
    hints: [undefined],
    want: hint([0, 1]),
    admitted: true,
  },
  {
    name: "the node that both resources prefer",
    policy: "best-effort",
    hints: [either, [hint([1]), hint([0, 1], false)]],
    want: hint([1]),
    admitted: true,
  },
  {
    name: "resources on different nodes are not preferred: best-effort admits",
    policy: "best-effort",
    hints: [[hint([0]), hint([0, 1], false)], [hint([1])]],
    want: hint([1], false),
    admitted: true,
  },
  {
    name: "resources on different nodes are not preferred: restricted refuses",
    policy: "restricted",
    hints: [[hint([0])], [hint([1]), hint([0, 1], false)]],
    want: hint([0], false),
    admitted: false,
  },
  {
    name: "a request for two nodes: restricted admits",
    policy: "restricted",
    hints: [[hint([0, 1])]],
    want: hint([0, 1]),
    admitted: true,
  },
  {
    name: "a request for two nodes: single-numa-node refuses",
    policy: "single-numa-node",
    hints: [[hint([0, 1])]],
    want: hint(undefined, false),
    admitted: false,
  },
  {
    name: "one node for all: single-numa-node admits",
    policy: "single-numa-node",
    hints: [either, either, undefined],
    want: hint([0]),
    admitted: true,
  },
  {
    name: "a request that cannot be satisfied: restricted refuses",
    policy: "restricted",
    hints: [either, []],
    want: hint([0], false),
    admitted: false,
  },
];

for (const { name, policy, hints, want, admitted } of rows) {
  test(`topologyManagerPolicy: ${name}`, () => {
    const providers = hints.map((list, index) => new Map([[`example.com/${index}`, list]]));
    const options = { policy, numa: { nodes: [0, 1] }, preferClosest: false };
    assert.deepEqual(mergeHints(providers, options), { hint: want, admitted });
  });
}

test("prefer-closest-numa-nodes: the pair with the shortest distance", () => {
  const distances = new Map([
    [0, [10, 30, 12]],
    [1, [30, 10, 30]],
    [2, [12, 30, 10]],
  ]);
  const pairs = [hint([0, 1]), hint([0, 2]), hint([1, 2])];
  const options = { policy: "best-effort" as const, numa: { nodes: [0, 1, 2], distances } };
  const merge = (preferClosest: boolean) =>
    mergeHints([new Map([["cpu", pairs]])], { ...options, preferClosest }).hint;
  assert.deepEqual(merge(true), hint([0, 2]));
  assert.deepEqual(merge(false), hint([0, 1]));
});
