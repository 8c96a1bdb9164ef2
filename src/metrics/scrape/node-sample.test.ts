import assert from "node:assert/strict";
import { test } from "vitest";
import { readNodeSample } from "./node-sample.ts";

/** As the kubelet of Kubernetes 1.36 writes it. */
const PAGE = `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="a",namespace="default",pod="web"} 4.710169 1633253812125
container_cpu_usage_seconds_total{container="b",namespace="default",pod="web"} 1.5 1633253812130
container_cpu_usage_seconds_total{container="c",namespace="default",pod="half"} 1 1633253812130
container_cpu_usage_seconds_total{container="d",namespace="default",pod="ended"} 1 1633253812130
container_memory_working_set_bytes{container="a",namespace="default",pod="web"} 1.253376e+06 1633253812125
container_memory_working_set_bytes{container="b",namespace="default",pod="web"} 2048 1633253812130
container_memory_working_set_bytes{container="d",namespace="default",pod="ended"} 0 1633253812130
container_start_time_seconds{container="a",namespace="default",pod="web"} 1.6332528060e+09
node_cpu_usage_seconds_total 350.31 1633253809150
node_memory_working_set_bytes 5.66317056e+08 1633253809150
pod_cpu_usage_seconds_total{namespace="default",pod="web"} 6.3 1633253812125
scrape_error 0
`;

test("/metrics/resource: node and containers with their times; pods that are not complete are left out", () => {
  const { node, pods } = readNodeSample(PAGE, 0);
  assert.deepEqual(node, {
    timeMs: 1_633_253_809_150,
    cpuSeconds: 350.31,
    memoryBytes: 566_317_056,
    startMs: 0,
  });
  assert.deepEqual([...pods.keys()], ["default/web"]);
  assert.deepEqual(
    [...(pods.get("default/web") ?? [])],
    [
      ["a", { timeMs: 1_633_253_812_125, cpuSeconds: 4.710169, memoryBytes: 1_253_376, startMs: 1_633_252_806_000 }], // biome-ignore format: one row
      ["b", { timeMs: 1_633_253_812_130, cpuSeconds: 1.5, memoryBytes: 2048, startMs: 0 }],
    ],
  );
});

test("readNodeSample: /metrics/resource: samples without a time were taken now", () => {
  const text = "node_cpu_usage_seconds_total 1\nnode_memory_working_set_bytes 2\n";
  assert.equal(readNodeSample(text, 77).node?.timeMs, 77);
});
