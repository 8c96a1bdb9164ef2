import assert from "node:assert/strict";
import { test } from "vitest";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { addNodeStartup } from "./node-startup.ts";

const NAMES = ["pre_kubelet_", "pre_registration_", "registration_", "post_registration_", ""];

function valuesOf(metrics: Metrics): string[] {
  const lines = metrics.text().split("\n");
  return NAMES.map((name) => {
    const start = `kubelet_node_startup_${name}duration_seconds `;
    return lines.find((line) => line.startsWith(start))?.slice(start.length) ?? "missing";
  });
}

test("kubelet_node_startup_…: each part of the start is measured once", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const metrics = new Metrics();
  const startup = addNodeStartup(metrics, clock, 30);
  await clock.advance(2_000);
  startup.attempted();
  await clock.advance(1_000);
  startup.attempted();
  await clock.advance(500);
  startup.registered();
  assert.deepEqual(valuesOf(metrics), ["30", "2", "1.5", "0", "0"]);
  await clock.advance(4_000);
  startup.ready();
  assert.deepEqual(valuesOf(metrics), ["30", "2", "1.5", "4", "37.5"]);
  await clock.advance(60_000);
  startup.registered();
  startup.ready();
  assert.deepEqual(valuesOf(metrics), ["30", "2", "1.5", "4", "37.5"]);
});

test("kubelet_node_startup_…: a node that was there already is not measured", () => {
  const metrics = new Metrics();
  const startup = addNodeStartup(metrics, new VirtualClock("2030-01-01T00:00:00Z"), 30);
  startup.attempted();
  startup.ready();
  assert.deepEqual(valuesOf(metrics), ["0", "0", "0", "0", "0"]);
});
