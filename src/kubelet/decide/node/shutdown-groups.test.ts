import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { shutdownGrace, shutdownGroups } from "./shutdown-groups.ts";

test("shutdownGracePeriod: regular pods first, critical pods in shutdownGracePeriodCriticalPods", () => {
  const pods = [pod("a", 0, 5), pod("critical", 2_000_000_000, 60), pod("b", 1_000, 60)];
  const groups = shutdownGroups(pods, { shutdownGraceMs: 30_000, shutdownGraceCriticalMs: 10_000 });
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

function pod(name: string, priority: number, terminationGracePeriodSeconds: number): Pod {
  return {
    metadata: { name },
    spec: { priority, terminationGracePeriodSeconds, containers: [] },
    status: {},
  };
}
