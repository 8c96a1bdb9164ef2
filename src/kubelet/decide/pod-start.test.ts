import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build, type Draft } from "#testing/build.ts";
import { decidePodStart, hasStarted, wasUnschedulable } from "./pod-start.ts";

const NOW_MS = Date.parse("2030-01-01T00:01:00Z");
const running = { state: { running: { startedAt: "2030-01-01T00:00:59Z" } } };
const podOf = (spec: Draft<Pod["spec"]>, status: Draft<Pod["status"]>): Pod =>
  build(podKind, {
    metadata: { uid: "u", creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: { containers: [{ name: "main" }], ...spec },
    status: { containerStatuses: [{ name: "main", ...running }], ...status },
  });

const init = {
  state: {
    terminated: { startedAt: "2030-01-01T00:00:10Z", finishedAt: "2030-01-01T00:00:15Z" },
  },
};

for (const { name, pod, pulls = [], want } of [
  { name: "nothing is left out", pod: podOf({}, {}), want: { totalMs: 60_000, sliMs: 60_000 } },
  {
    name: "pulls at the same time count once",
    pod: podOf({}, {}),
    pulls: [
      { startMs: 5_000, endMs: 9_000 },
      { startMs: 1_000, endMs: 6_000 },
      { startMs: 20_000, endMs: 21_000 },
    ],
    want: { totalMs: 60_000, sliMs: 51_000 },
  },
  {
    name: "init containers that ended, not sidecars",
    pod: podOf(
      { initContainers: [{ name: "a" }, { name: "proxy", restartPolicy: "Always" }] },
      {
        initContainerStatuses: [
          { name: "a", ...init },
          { name: "proxy", ...init },
        ],
      },
    ),
    want: { totalMs: 60_000, sliMs: 55_000 },
  },
  {
    name: "configuration volumes",
    pod: podOf(
      {
        volumes: [
          { name: "v", configMap: {} },
          { name: "t", projected: {} },
        ],
      },
      {},
    ),
    want: { totalMs: 60_000, sliMs: 60_000 },
  },
  {
    name: "a pod with data is no part of the SLI",
    pod: podOf({ volumes: [{ name: "v", hostPath: { path: "/" } }] }, {}),
    want: { totalMs: 60_000, sliMs: undefined },
  },
]) {
  test(`decidePodStart: ${name}`, () => {
    assert.deepEqual(decidePodStart(pod, pulls, NOW_MS), want);
  });
}

test("hasStarted: every container of the spec is running", () => {
  assert.equal(hasStarted(podOf({}, {})), true);
  assert.equal(hasStarted(podOf({ containers: [{ name: "main" }, { name: "b" }] }, {})), false);
  const waiting = { containerStatuses: [{ name: "main", state: { waiting: {} } }] };
  assert.equal(hasStarted(podOf({}, waiting)), false);
});

test("wasUnschedulable: PodScheduled is False", () => {
  const scheduled = (status: string) => ({ conditions: [{ type: "PodScheduled", status }] });
  assert.equal(wasUnschedulable(podOf({}, scheduled("False"))), true);
  assert.equal(wasUnschedulable(podOf({}, scheduled("True"))), false);
});
