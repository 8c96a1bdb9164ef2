import assert from "node:assert/strict";
import { test } from "vitest";
import { OverviewCounts } from "./overview-counts.ts";

const node = (name: string, ready: string, unschedulable = false) => ({
  metadata: { name },
  spec: { unschedulable },
  status: {
    allocatable: { cpu: "2", memory: "1Gi", pods: "10" },
    conditions: [{ type: "Ready", status: ready }],
  },
});

const pod = (phase: string, cpu = "500m") => ({
  spec: {
    containers: [{ resources: { requests: { cpu, memory: "64Mi" } } }],
    initContainers: [
      { resources: { requests: { cpu: "100m" } } },
      { restartPolicy: "Always", resources: { requests: { cpu: "250m" } } },
    ],
  },
  status: { phase },
});

test("overview figures follow nodes and pods as they come, change and go", () => {
  const counts = new OverviewCounts();
  counts.putNode("b", node("b", "True"));
  counts.putNode("a", node("a", "False", true));
  counts.putPod("1", pod("Pending"));
  counts.putPod("1", pod("Running"));
  counts.putPod("2", pod("Succeeded"));
  counts.putPod("3", pod("Running", "nonsense"));
  const figures = counts.figures();
  assert.deepEqual(figures.nodes, { total: 2, ready: 1, cordoned: 1 });
  assert.deepEqual(
    figures.nodeLines.map(({ name }) => name),
    ["a", "b"],
  );
  assert.deepEqual(figures.cpuCores, { capacity: 4, requested: 1 });
  assert.deepEqual(figures.pods, { capacity: 20, requested: 2 });
  assert.deepEqual(figures.phases, [
    { phase: "Running", count: 2 },
    { phase: "Succeeded", count: 1 },
  ]);
  for (const uid of ["1", "2", "3"]) counts.removePod(uid);
  counts.removeNode("a");
  const after = counts.figures();
  assert.deepEqual(after.phases, []);
  assert.deepEqual(after.cpuCores, { capacity: 2, requested: 0 });
});
