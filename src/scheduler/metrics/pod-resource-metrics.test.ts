import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { podResourceMetrics } from "./pod-resource-metrics.ts";

test("kube_pod_resource_request and _limit: units, overhead, pods that have ended are left out", () => {
  const resources = {
    requests: { cpu: "250m", memory: "64Mi", "hugepages-2Mi": "4Mi", "example.com/gpu": "1" },
    limits: { memory: "128Mi", "hugepages-2Mi": "4Mi", "example.com/gpu": "1" },
  };
  const pod = (name: string, phase: string, nodeName?: string) =>
    build(podKind, {
      metadata: { name },
      spec: {
        ...{ schedulerName: "s", priority: 7, overhead: { cpu: "50m", memory: "1Mi" } },
        ...(nodeName === undefined ? {} : { nodeName }),
        containers: [{ name: "c", image: "x", resources }],
      },
      status: { phase: phase as "Running" },
    });
  const text = podResourceMetrics([pod("p", "Running", "n1"), pod("ended", "Succeeded", "n1")]);
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const own = 'namespace="default",pod="p",node="n1",scheduler="s",priority="7"';
  const gpu = 'resource="example.com/gpu",unit=""';
  const huge = 'resource="hugepages-2Mi",unit="bytes"';
  assert.deepEqual(lines.toSorted(), [
    `kube_pod_resource_limit{${own},${gpu}} 1`,
    `kube_pod_resource_limit{${own},${huge}} 4.194304e+06`,
    `kube_pod_resource_limit{${own},resource="memory",unit="bytes"} 1.35266304e+08`,
    `kube_pod_resource_request{${own},resource="cpu",unit="cores"} 0.3`,
    `kube_pod_resource_request{${own},${gpu}} 1`,
    `kube_pod_resource_request{${own},${huge}} 4.194304e+06`,
    `kube_pod_resource_request{${own},resource="memory",unit="bytes"} 6.815744e+07`,
  ]);
});
