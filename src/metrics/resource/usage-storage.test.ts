import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { UsagePoint } from "../scrape/node-sample.ts";
import { UsageStorage } from "./usage-storage.ts";

const RESOLUTION_MS = 15_000;

function point(atSeconds: number, cpuSeconds: number, startSeconds = 0): UsagePoint {
  return { timeMs: atSeconds * 1000, cpuSeconds, memoryBytes: 1024, startMs: startSeconds * 1000 };
}

/** The usage of pod `default/p` after rounds that saw these points of its containers. */
function afterRounds(rounds: readonly (Record<string, UsagePoint> | "unreachable")[]) {
  const storage = new UsageStorage(RESOLUTION_MS);
  for (const round of rounds) {
    storage.beginRound();
    if (round !== "unreachable") {
      const pods = new Map([["default/p", new Map(Object.entries(round))]]);
      storage.store("n", { node: undefined, pods });
    }
    storage.endRound();
  }
  return storage.ofPod("n", "default", "p");
}

describe("pod metrics", () => {
  const rows = [
    { name: "one point is no usage", rounds: [{ a: point(100, 1, 10) }], cpu: undefined },
    {
      name: "usage is the difference of two points by the window",
      rounds: [{ a: point(100, 1, 10) }, { a: point(115, 4, 10) }],
      cpu: [0.2],
    },
    {
      name: "a container that started within the resolution is compared with its start",
      rounds: [{ a: point(112, 6, 100) }],
      cpu: [0.5],
    },
    { name: "a container younger than 10 s has no usage", rounds: [{ a: point(105, 6, 100) }], cpu: undefined }, // biome-ignore format: one row
    {
      name: "a restarted container is not compared with the one before",
      rounds: [{ a: point(100, 50, 10) }, { a: point(115, 1, 114) }],
      cpu: undefined,
    },
    {
      name: "the same point again keeps the usage",
      rounds: [{ a: point(100, 1, 10) }, { a: point(115, 4, 10) }, { a: point(115, 4, 10) }],
      cpu: [0.2],
    },
    {
      name: "processor time that went back is no usage",
      rounds: [{ a: point(100, 9, 10) }, { a: point(115, 4, 10) }],
      cpu: undefined,
    },
    {
      name: "a pod is left out while one of its containers has no usage",
      rounds: [
        { a: point(100, 1, 10), b: point(100, 1, 10) },
        { a: point(115, 4, 10), b: point(115, 0, 114) },
      ],
      cpu: undefined,
    },
    {
      name: "a node that was not scraped has no usage (staleness)",
      rounds: [{ a: point(100, 1, 10) }, { a: point(115, 4, 10) }, "unreachable" as const],
      cpu: undefined,
    },
    {
      name: "after a missed round two points are needed again",
      rounds: [
        { a: point(100, 1, 10) },
        { a: point(115, 4, 10) },
        "unreachable" as const,
        { a: point(145, 9, 10) },
      ],
      cpu: undefined,
    },
  ];
  test.each(rows)("$name", ({ rounds, cpu }) => {
    const usage = afterRounds(rounds as Parameters<typeof afterRounds>[0]);
    assert.deepEqual(
      usage?.containers.map((one) => one.usage.cpuCores),
      cpu,
    );
  });
});

test("node metrics: window and time are those of the last two scrapes", () => {
  const storage = new UsageStorage(RESOLUTION_MS);
  for (const [at, cpu] of [
    [100, 10],
    [115, 25],
  ] as const) {
    // biome-ignore format: one row
    storage.beginRound();
    storage.store("n", { node: point(at, cpu), pods: new Map() });
    storage.endRound();
  }
  assert.deepEqual(storage.ofNode("n"), {
    ...{ cpuCores: 1, memoryBytes: 1024, timeMs: 115_000, windowMs: 15_000 },
  });
  assert.equal(storage.hasSinglePoints(), false);
  assert.equal(storage.ofNode("other"), undefined);
});
