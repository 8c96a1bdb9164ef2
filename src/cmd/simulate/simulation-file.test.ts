import assert from "node:assert/strict";
import { load } from "js-yaml";
import { test } from "vitest";
import { DEFAULT_SIMULATION } from "#sim/run-simulation.ts";
import { readSimulation } from "./simulation-file.ts";

test("simulation file: nodes and pods are read, what is missing has its default", () => {
  const config = readSimulation(
    load(`
nodes: { capacity: { cpu: 64 }, labels: { pool: batch }, zones: [a] }
pods:
- { namespace: shop, labels: { app: web }, start-delay: 2s, exit-code: 3 }
`),
  );
  assert.deepEqual(config.nodes, {
    capacity: { ...DEFAULT_SIMULATION.nodes.capacity, cpu: "64" },
    labels: { pool: "batch" },
    taints: [],
    zones: ["a"],
  });
  assert.deepEqual(config.pods, [
    { namespace: "shop", labels: { app: "web" }, behaviour: { startDelayMs: 2_000, exitCode: 3 } },
  ]);
  assert.deepEqual(readSimulation(undefined), DEFAULT_SIMULATION);
});

for (const [text, want] of [
  ["node: {}", /unknown field "node" \(did you mean nodes\?\)/],
  ["pods: {}", /pods must be a list/],
  ["pods: [{ start-delay: soon }]", /pods\[0\]\.start-delay: time: invalid duration "soon"/],
  ["pods: [{ start: 1s }]", /pods\[0\]: unknown field "start"/],
  ["nodes: { capacity: { cpu: many } }", /nodes\.capacity\.cpu: quantities must match/],
  ["nodes: { taints: [{ key: a, effect: Never }] }", /"Never" is no effect of a taint/],
] as const) {
  test(`readSimulation: simulation file: ${text} is refused`, () => {
    assert.throws(() => readSimulation(load(text)), want);
  });
}
