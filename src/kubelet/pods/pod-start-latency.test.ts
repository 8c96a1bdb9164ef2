import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build, type Draft } from "#testing/build.ts";
import { PodStartLatency } from "./pod-start-latency.ts";

const podOf = (
  uid: string,
  status: Draft<Pod["status"]> = {},
  spec: Draft<Pod["spec"]> = {},
): Pod =>
  build(podKind, {
    metadata: { uid, creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: { containers: [{ name: "main" }], ...spec },
    status,
  });
const STARTED = {
  containerStatuses: [{ name: "main", state: { running: { startedAt: "2030-01-01T00:00:03Z" } } }],
};

async function started() {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const metrics = new Metrics();
  const starts = new PodStartLatency(metrics, clock);
  const value = (name: string): number => {
    const line = metrics
      .text()
      .split("\n")
      .find((one) => one.startsWith(`kubelet_${name} `));
    return Number(line?.split(" ")[1]);
  };
  return { clock, starts, value };
}

test("kubelet_pod_start_sli_duration_seconds: creation to started, without pulls, once", async () => {
  const { clock, starts, value } = await started();
  starts.observe(podOf("u1"));
  starts.pulled("u1", { startMs: 100, endMs: 1_100 });
  await clock.advance(4_000);
  starts.observe(podOf("u1", STARTED));
  starts.observe(podOf("u1", STARTED));
  assert.equal(value("pod_start_sli_duration_seconds_count"), 1);
  assert.equal(value("pod_start_sli_duration_seconds_sum"), 3);
  assert.equal(value("pod_start_total_duration_seconds_sum"), 4);
  assert.equal(value("first_network_pod_start_sli_duration_seconds"), 3);
});

test("kubelet_pod_start_…: pods that started before, ended or waited for the scheduler are left out", async () => {
  const { starts, value } = await started();
  const unschedulable = { conditions: [{ type: "PodScheduled", status: "False" }] };
  starts.observe(podOf("old", { startTime: "2029-12-31T00:00:00Z" }));
  starts.observe(podOf("waited", unschedulable));
  starts.observe(podOf("ended"));
  starts.observe(podOf("ended", { phase: "Failed" }));
  for (const uid of ["old", "waited", "ended"]) starts.observe(podOf(uid, STARTED));
  assert.equal(value("pod_start_total_duration_seconds_count"), 0);
  starts.forget("ended");
  starts.observe(podOf("ended"));
  starts.observe(podOf("ended", STARTED, { volumes: [{ name: "d", hostPath: { path: "/" } }] }));
  assert.equal(value("pod_start_total_duration_seconds_count"), 1);
  assert.equal(value("pod_start_sli_duration_seconds_count"), 0);
});
