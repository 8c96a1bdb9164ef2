import assert from "node:assert/strict";
import { test } from "vitest";
import type { ContainerState, Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build, type Draft } from "#testing/build.ts";
import { addKubeletMetrics } from "./kubelet-metrics.ts";

const pod = (phase: string, state: Draft<ContainerState>): Pod =>
  build(podKind, {
    metadata: {},
    spec: { containers: [] },
    status: { phase, containerStatuses: [{ name: "a", state }] },
  });

test("kubelet metrics: operations of the runtime, volumes, cgroups and pod workers are measured", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const shown = new Metrics();
  const measured = addKubeletMetrics(shown, "n1", clock);
  await measured.runtimeOperation("run_podsandbox", async () => undefined);
  await assert.rejects(
    measured.runtimeOperation("pull_image", () => Promise.reject(new Error("no"))),
  );
  await measured.storage("kubernetes.io/secret", "volume_mount", async () => undefined);
  await measured.podWorker("sync", async () => undefined);
  await measured.cgroup("create", async () => undefined);
  measured.podStarted(1.5);
  measured.evicted("memory.available");
  measured.countPods(() => [pod("Running", { running: {} }), pod("Pending", { waiting: {} })]);
  const lines = shown.text().split("\n");
  for (const line of [
    'kubelet_node_name{node="n1"} 1',
    'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1',
    'kubelet_runtime_operations_errors_total{operation_type="pull_image"} 1',
    'kubelet_runtime_operations_duration_seconds_count{operation_type="pull_image"} 1',
    'storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/secret"} 1',
    'kubelet_pod_worker_duration_seconds_count{operation_type="sync"} 1',
    'kubelet_cgroup_manager_duration_seconds_count{operation_type="create"} 1',
    'kubelet_pod_start_duration_seconds_bucket{le="2"} 1',
    'kubelet_evictions{eviction_signal="memory.available"} 1',
    "kubelet_running_pods 1",
    'kubelet_running_containers{container_state="running"} 1',
  ]) {
    assert.ok(lines.includes(line), line);
  }
});
