import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { evictionMessage, type PodUsage, rankForEviction } from "./eviction.ts";
import { type CrossedSince, observeThresholds, thresholdsOf } from "./eviction-thresholds.ts";

const MIB = 1024 * 1024;
const NONE = {
  evictionHard: {},
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
};

test("eviction thresholds: quantities and percentages of the capacity", () => {
  const evictionHard = { "memory.available": "100Mi", "nodefs.available": "10%" };
  const { due } = observeThresholds(
    thresholdsOf({ ...NONE, evictionHard }),
    {
      "memory.available": { available: 50 * MIB + 1024, capacity: 1000 * MIB },
      "nodefs.available": { available: 101 * MIB, capacity: 1000 * MIB },
    },
    new Map(),
    0,
  );
  assert.deepEqual(
    due.map(({ signal }) => signal),
    ["memory.available"],
  );
  assert.equal(
    evictionMessage(due[0]!, usage("much", "10Mi", 90 * MIB)),
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51201Ki. Container main was using 90Mi, request is 10Mi, has larger consumption of memory. ",
  );
});

test("eviction thresholds: evictionSoft counts after its grace period, evictionMinimumReclaim keeps it", () => {
  const thresholds = thresholdsOf({
    ...NONE,
    evictionSoft: { "pid.available": "100" },
    evictionSoftGracePeriod: { "pid.available": "30s" },
    evictionMinimumReclaim: { "pid.available": "50" },
  });
  const at = (available: number, before: CrossedSince, ms: number) =>
    observeThresholds(thresholds, { "pid.available": { available, capacity: 1000 } }, before, ms);
  const first = at(99, new Map(), 1_000);
  assert.deepEqual([first.crossed.length, first.due.length], [1, 0]);
  const second = at(120, first.since, 31_000);
  assert.deepEqual(second.due, [
    { signal: "pid.available", isHard: false, threshold: 100, available: 120 },
  ]);
  assert.equal(at(150, second.since, 32_000).crossed.length, 0);
  assert.equal(at(120, new Map(), 32_000).crossed.length, 0);
});

test("eviction order: beyond the request first, then low priority, then the largest excess", () => {
  const usages = [
    usage("within", "100Mi", 50 * MIB),
    usage("little", "10Mi", 20 * MIB),
    usage("much", "10Mi", 90 * MIB),
    usage("important", "10Mi", 500 * MIB, 1_000),
    usage("critical", "0", 900 * MIB, 2_000_000_000),
    { pod: pod("unmeasured", "10Mi") },
  ];
  assert.deepEqual(
    rankForEviction(usages, { signal: "memory.available" }).map((one) => one.pod.metadata.name),
    ["unmeasured", "much", "little", "important", "within"],
  );
});

test("eviction order under PIDPressure: low priority, then the number of processes", () => {
  const usages = [usage("few", "0", 3), usage("many", "0", 30), usage("important", "0", 300, 10)];
  assert.deepEqual(
    rankForEviction(usages, { signal: "pid.available" }).map((one) => one.pod.metadata.name),
    ["many", "few", "important"],
  );
});

function usage(name: string, memory: string, used: number, priority = 0): PodUsage {
  return {
    pod: pod(name, memory, priority),
    use: {
      ...{ memoryBytes: used, diskBytes: 0, inodes: 0, processes: used },
      containers: [{ name: "main", memoryBytes: used, diskBytes: 0 }],
    },
  };
}

function pod(name: string, memory: string, priority = 0): Pod {
  const containers = [{ name: "main", resources: { requests: { memory } } }];
  return { metadata: { name }, spec: { containers, priority }, status: {} };
}
