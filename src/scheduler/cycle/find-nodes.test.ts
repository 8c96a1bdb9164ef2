import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { feasibleNodesWanted } from "./find-nodes.ts";

describe("percentageOfNodesToScore", () => {
  const cases = [
    { nodes: 99, percentage: 10, wanted: 99, name: "below 100 nodes all of them" },
    { nodes: 100, percentage: undefined, wanted: 100, name: "never fewer than 100" },
    { nodes: 1_000, percentage: undefined, wanted: 420, name: "50 % less 1 % for 125 nodes" },
    { nodes: 5_000, percentage: 0, wanted: 500, name: "0 is the same as none" },
    { nodes: 10_000, percentage: undefined, wanted: 500, name: "5 % at least" },
    { nodes: 5_000, percentage: 30, wanted: 1_500, name: "as configured" },
    { nodes: 1_000, percentage: 1, wanted: 100, name: "as configured, but 100 at least" },
    { nodes: 5_000, percentage: 100, wanted: 5_000, name: "all" },
  ];
  for (const { nodes, percentage, wanted, name } of cases) {
    test(`${name}: ${wanted} of ${nodes}`, () => {
      assert.equal(feasibleNodesWanted(nodes, percentage), wanted);
    });
  }
});
