import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { Metrics } from "#lib/metrics.ts";
import { addPodOriginCounts, type CountedPod } from "./pod-counts.ts";

const pod: Pod = {
  ...{ apiVersion: "v1", kind: "Pod", metadata: {}, status: {} },
  spec: { containers: [], ephemeralContainers: [{ name: "debug", resources: {} }] },
};
const one = (more: Partial<CountedPod>): CountedPod => ({
  ...{ pod, lifecycle: "sync", origin: "desired", isStatic: false, isActive: true },
  ...more,
});

test("kubelet_desired_pods, active_pods, mirror_pods, working_pods: by source and lifecycle", () => {
  const metrics = new Metrics();
  const pods = [
    one({}),
    one({ lifecycle: "terminated", isActive: false }),
    one({ isStatic: true }),
    one({ origin: "orphan", lifecycle: "terminating" }),
    one({ origin: "runtime_only", lifecycle: "terminating", isActive: false }),
  ];
  addPodOriginCounts(metrics, { pods: () => pods, mirrors: () => 1 });
  const lines = metrics.text().split("\n");
  for (const line of [
    'kubelet_desired_pods{static=""} 2',
    'kubelet_desired_pods{static="true"} 1',
    'kubelet_active_pods{static=""} 2',
    'kubelet_active_pods{static="true"} 1',
    "kubelet_mirror_pods 1",
    'kubelet_working_pods{lifecycle="sync",config="desired",static=""} 1',
    'kubelet_working_pods{lifecycle="terminated",config="desired",static=""} 1',
    'kubelet_working_pods{lifecycle="sync",config="desired",static="true"} 1',
    'kubelet_working_pods{lifecycle="terminating",config="orphan",static=""} 1',
    'kubelet_working_pods{lifecycle="terminating",config="orphan",static="true"} 0',
    'kubelet_working_pods{lifecycle="terminating",config="runtime_only",static="unknown"} 1',
    "kubelet_managed_ephemeral_containers 5",
  ]) {
    assert.ok(lines.includes(line), line);
  }
  assert.equal(lines.filter((line) => line.startsWith("kubelet_working_pods{")).length, 15);
});
