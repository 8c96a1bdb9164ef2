import assert from "node:assert/strict";
import { test } from "vitest";
import type { ContainerStatus, PodStatus } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { NodeUsage } from "#host/node-usage.ts";
import { containerStats } from "#kubelet/cri/stats-messages.ts";
import type { WriteOf } from "#lib/protobuf/message.ts";
import { build } from "#testing/build.ts";
import { resourceMetrics } from "./resource-metrics.ts";
import { type Summary, summaryOf } from "./summary.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const SPACE = {
  ...{ availableBytes: 60, capacityBytes: 100, usedBytes: 40 },
  ...{ inodes: 10, inodesFree: 6, inodesUsed: 4 },
};
const ETH0 = {
  ...{ name: "eth0", rxBytes: 9, rxPackets: 2, rxErrors: 1, rxDropped: 0 },
  ...{ txBytes: 8, txPackets: 1, txErrors: 0, txDropped: 0 },
};

/** As the runtime sends them. */
const statsOf = (stats: WriteOf<typeof containerStats>) =>
  containerStats.decode(containerStats.encode(stats));

function summaryWith(swaps: readonly Partial<typeof SWAP>[], status: PodStatus = {}): Summary {
  const containers = swaps.map((swap, i) =>
    statsOf({
      attributes: {
        id: `c${i}`,
        labels: { "io.kubernetes.pod.uid": "u", "io.kubernetes.container.name": `c${i}` },
      },
      cpu: { usageCoreNanoSeconds: { value: 5n } },
      memory: { workingSetBytes: { value: 7n } },
      ...swap,
    }),
  );
  const metadata = { uid: "u", name: "web", namespace: "shop" };
  const pod = build(podKind, { metadata, spec: {}, status });
  const node = {
    ...{ cpuNanoseconds: 1, memoryTotalBytes: 100, memoryAvailableBytes: 50 },
    ...{ memoryWorkingSetBytes: 40, memoryUsageBytes: 45, memoryRssBytes: 30, pageFaults: 1 },
    ...{ majorPageFaults: 0, swapTotalBytes: 1_000, swapFreeBytes: 400, bootMs: 0 },
    ...{ processes: 3, processesMax: 10, interfaces: [ETH0] },
  } satisfies NodeUsage;
  return summaryOf({
    ...{ nodeName: "n1", nowMs: NOW_MS, node, rootFilesystem: SPACE },
    ...{ imageFilesystemUsedBytes: undefined, volumes: new Map(), pods: [pod] },
    containers,
  });
}

const SWAP = { swap: { swapAvailableBytes: { value: 30n }, swapUsageBytes: { value: 12n } } };

test("/stats/summary: swap of containers and of the pod, where the runtime counts it", () => {
  const { pods } = summaryWith([SWAP, SWAP, {}]);
  const [first, , third] = pods[0]?.containers ?? [];
  const time = "2030-01-01T00:00:00.000000Z";
  assert.deepEqual(first?.swap, { time, swapAvailableBytes: 30, swapUsageBytes: 12 });
  assert.equal(third?.swap, undefined);
  assert.deepEqual(pods[0]?.swap, { time, swapAvailableBytes: 60, swapUsageBytes: 24 });
  assert.equal(summaryWith([{}]).pods[0]?.swap, undefined);
});

test("/stats/summary: an ephemeral container has its start time, so that its usage is no restart at each scrape", () => {
  const startedAt = "2029-12-31T23:00:00Z";
  const status = { name: "c0", state: { running: { startedAt } } } as ContainerStatus;
  const { pods } = summaryWith([{}], { ephemeralContainerStatuses: [status] });
  assert.equal(pods[0]?.containers[0]?.startTime, startedAt);
});

test("/stats/summary: interfaces have upstream's fields only", () => {
  const { network } = summaryWith([]).node as { network?: { interfaces: readonly object[] } };
  assert.deepEqual(network?.interfaces, [
    { name: "eth0", rxBytes: 9, rxErrors: 1, txBytes: 8, txErrors: 0 },
  ]);
});

test("/metrics/resource: swap of the node, of pods, and of containers with their limit", () => {
  const lines = resourceMetrics(summaryWith([SWAP, {}])).split("\n");
  for (const line of [
    `container_swap_limit_bytes{container="c0",namespace="shop",pod="web"} 42 ${NOW_MS}`,
    `container_swap_usage_bytes{container="c0",namespace="shop",pod="web"} 12 ${NOW_MS}`,
    `pod_swap_usage_bytes{namespace="shop",pod="web"} 12 ${NOW_MS}`,
    `node_swap_usage_bytes 600 ${NOW_MS}`,
  ]) {
    assert.ok(lines.includes(line), line);
  }
  assert.equal(lines.filter((line) => line.startsWith("container_swap_usage_bytes{")).length, 1);
});
