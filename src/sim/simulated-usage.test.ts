import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { completed } from "#testing/build.ts";
import { DEFAULT_BEHAVIOUR } from "./behaviour.ts";
import { simulatedUsage } from "./simulated-usage.ts";

const START = "2030-01-01T00:00:00Z";
const NOW_MS = Date.parse("2030-01-01T00:00:10Z");

function pod(name: string, state: object) {
  return completed(podKind, {
    metadata: { name, namespace: "shop" },
    spec: { containers: [{ name: "web", image: "web" }] },
    status: { containerStatuses: [{ name: "web", state, ready: true, restartCount: 0 }] },
  } as never);
}

test("simulated usage: running containers count by their behaviour, others do not", () => {
  const behaviour = { ...DEFAULT_BEHAVIOUR, cpuMilli: 500, memoryBytes: 64 };
  const pods = [
    { pod: pod("a", { running: { startedAt: START } }), behaviour },
    { pod: pod("b", { waiting: { reason: "ContainerCreating" } }), behaviour },
  ];
  const point = { timeMs: NOW_MS, cpuSeconds: 5, memoryBytes: 64 };
  assert.deepEqual(simulatedUsage(pods as never, NOW_MS), {
    node: { ...point, startMs: 0 },
    pods: new Map([["shop/a", new Map([["web", { ...point, startMs: Date.parse(START) }]])]]),
  });
});
