import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { crossedThresholds, evictionMessage, rankForEviction } from "./eviction.ts";

const MIB = 1024 * 1024;

test("eviction thresholds: quantities and percentages of the capacity", () => {
  const thresholds = { "memory.available": "100Mi", "nodefs.available": "10%" };
  const crossed = crossedThresholds(thresholds, {
    "memory.available": { available: 50 * MIB, capacity: 1000 * MIB },
    "nodefs.available": { available: 101 * MIB, capacity: 1000 * MIB },
  });
  assert.deepEqual(
    crossed.map(({ signal }) => signal),
    ["memory.available"],
  );
  assert.equal(
    evictionMessage(crossed[0]!),
    "The node was low on resource: memory. Threshold quantity: 102400Ki, available: 51200Ki. ",
  );
});

test("eviction order: beyond the request first, then low priority, then the largest excess", () => {
  const usages = [
    { pod: pod("within", "100Mi"), memoryBytes: 50 * MIB },
    { pod: pod("little", "10Mi"), memoryBytes: 20 * MIB },
    { pod: pod("much", "10Mi"), memoryBytes: 90 * MIB },
    { pod: pod("important", "10Mi", 1_000), memoryBytes: 500 * MIB },
    { pod: pod("critical", "0", 2_000_000_000), memoryBytes: 900 * MIB },
  ];
  assert.deepEqual(
    rankForEviction(usages, "memory").map((usage) => usage.pod.metadata.name),
    ["much", "little", "important", "within"],
  );
});

function pod(name: string, memory: string, priority = 0): Pod {
  const containers = [{ name: "main", resources: { requests: { memory } } }];
  return { metadata: { name }, spec: { containers, priority }, status: {} };
}
