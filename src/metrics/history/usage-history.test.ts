import assert from "node:assert/strict";
import { test } from "vitest";
import { UsageHistory } from "./usage-history.ts";

const ROUND_MS = 15_000;

test("UsageHistory: history: samples come back in order, exact to 0.02 %", () => {
  const history = new UsageHistory();
  const values = [
    [0, 0],
    [0.000_25, 4096],
    [0.15, 64 * 1024 ** 2],
    [96, 3 * 1024 ** 4],
  ] as const;
  for (const [round, [cpu, memory]] of values.entries()) {
    history.beginRound(round * ROUND_MS);
    history.add("a", cpu, memory);
  }
  const found = history.samples("a");
  assert.deepEqual(
    found.map(({ timeMs }) => timeMs),
    [0, 15_000, 30_000, 45_000],
  );
  for (const [i, [cpu, memory]] of values.entries()) {
    assert.ok(Math.abs(found[i]!.cpuCores - cpu) <= cpu * 0.0002 + 1e-9, `${found[i]?.cpuCores}`);
    assert.ok(Math.abs(found[i]!.memoryBytes - memory) <= memory * 0.0002 + 1);
  }
});

test("UsageHistory: history: rounds without the series have no sample, unknown series have none", () => {
  const history = new UsageHistory();
  for (const round of [0, 1, 2]) {
    history.beginRound(round * ROUND_MS);
    if (round !== 1) history.add("a", 1, 1);
  }
  assert.equal(history.samples("a").length, 2);
  assert.deepEqual(history.samples("b"), []);
});

test("UsageHistory: history: an hour is kept; a series that ended is forgotten and its slot used again", () => {
  const history = new UsageHistory();
  for (let round = 0; round < 1_000; round++) {
    history.beginRound(round * ROUND_MS);
    history.add("steady", 1, 1);
    history.add(`pod-${round}`, 2, 2); // as pods of a CronJob come and go
  }
  assert.equal(history.samples("steady").length, 241);
  assert.equal(history.seriesCount, 242);
  assert.ok(history.sampleBytes <= 241 * 4 * 400, `${history.sampleBytes} bytes`);
  assert.deepEqual(history.samples("pod-3"), []);
  assert.equal(history.samples("pod-999").length, 1);
  for (let round = 800; round < 1_000; round++) {
    assert.deepEqual(
      history.samples(`pod-${round}`).map(({ timeMs }) => timeMs),
      [round * ROUND_MS],
    );
  }
});

test("history: 4 bytes for a pod and sample", () => {
  const history = new UsageHistory();
  const pods = Array.from({ length: 10_000 }, (_, i) => `default/pod-${i}`);
  for (let round = 0; round < 20; round++) {
    history.beginRound(round * ROUND_MS);
    for (const pod of pods) history.add(pod, 0.1, 1e6);
  }
  const bytes = history.sampleBytes / (pods.length * 20);
  assert.ok(bytes < 5.1, `${bytes}`);
});
