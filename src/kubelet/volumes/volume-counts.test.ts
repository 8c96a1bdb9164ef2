import assert from "node:assert/strict";
import { test } from "vitest";
import type { PersistentVolume } from "#api/generated/core.v1.ts";
import { Metrics } from "#lib/metrics.ts";
import { qualifiedPluginName, VolumeCounts } from "./volume-counts.ts";

test("volume_manager_total_volumes: wanted and mounted volumes by plug-in", () => {
  const counts = new VolumeCounts();
  const metrics = new Metrics();
  counts.show(metrics);
  const samples = (): string[] =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line.startsWith("volume_manager"))
      .sort();
  counts.want("u1", "a", "kubernetes.io/secret");
  counts.want("u1", "b", "kubernetes.io/secret");
  counts.mounted("u1", "a", "kubernetes.io/secret");
  counts.mounted("u1", "a", "kubernetes.io/secret");
  assert.deepEqual(samples(), [
    'volume_manager_total_volumes{plugin_name="kubernetes.io/secret",state="actual_state_of_world"} 1',
    'volume_manager_total_volumes{plugin_name="kubernetes.io/secret",state="desired_state_of_world"} 2',
  ]);
  counts.unwanted("u1");
  assert.equal(samples().length, 1);
  counts.gone("u1");
  assert.deepEqual(samples(), []);
});

test("qualifiedPluginName: a csi volume has its driver's name behind it", () => {
  const inline = { name: "v", csi: { driver: "disk.example.com" } };
  assert.equal(
    qualifiedPluginName("kubernetes.io/csi", inline, undefined),
    "kubernetes.io/csi:disk.example.com",
  );
  const claimed = { spec: { csi: { driver: "d", volumeHandle: "h" } } } as PersistentVolume;
  assert.equal(
    qualifiedPluginName("kubernetes.io/csi", { name: "v" }, claimed),
    "kubernetes.io/csi:d",
  );
  assert.equal(
    qualifiedPluginName("kubernetes.io/nfs", { name: "v" }, undefined),
    "kubernetes.io/nfs",
  );
});
