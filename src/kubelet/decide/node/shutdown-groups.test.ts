import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { shutdownGrace, shutdownGroups, shutdownPeriods } from "./shutdown-groups.ts";

test("shutdownGracePeriod: regular pods first, critical pods in shutdownGracePeriodCriticalPods", () => {
  const pods = [pod("a", 0, 5), pod("critical", 2_000_000_000, 60), pod("b", 1_000, 60)];
  const settings = { shutdownGraceMs: 30_000, shutdownGraceCriticalMs: 10_000 };
  const periods = shutdownPeriods({ ...settings, shutdownGraceByPriority: [] });
  const groups = shutdownGroups(pods, periods);
  assert.deepEqual(
    groups.map((group) => group.pods.map((one) => [one.metadata.name, shutdownGrace(one, group)])),
    [
      [
        ["a", 5],
        ["b", 20],
      ],
      [["critical", 10]],
    ],
  );
});

test("shutdownGracePeriodByPodPriority: a pod belongs to the highest entry that is not above its priority", () => {
  const pods = [pod("low", -5, 60), pod("none", 0, 60), pod("b", 150, 60), pod("high", 9_000, 60)];
  const periods = shutdownPeriods({
    ...{ shutdownGraceMs: 0, shutdownGraceCriticalMs: 0 },
    shutdownGraceByPriority: [
      { priority: 1_000, shutdownGracePeriodSeconds: 3 },
      { priority: 0, shutdownGracePeriodSeconds: 1 },
      { priority: 100, shutdownGracePeriodSeconds: 2 },
    ],
  });
  assert.deepEqual(
    shutdownGroups(pods, periods).map((group) => [
      group.graceSeconds,
      ...group.pods.map((one) => one.metadata.name),
    ]),
    [
      [1, "low", "none"],
      [2, "b"],
      [3, "high"],
    ],
  );
});

function pod(name: string, priority: number, terminationGracePeriodSeconds: number): Pod {
  return {
    metadata: { name },
    spec: { priority, terminationGracePeriodSeconds, containers: [] },
    status: {},
  };
}
