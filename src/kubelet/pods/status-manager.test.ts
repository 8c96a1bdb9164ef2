import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod, PodStatus } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { startCluster } from "#testing/test-cluster.ts";
import { ConcurrentStarts } from "./concurrent-starts.ts";
import { StatusManager } from "./status-manager.ts";

const POD = `{ apiVersion: v1, kind: Pod, metadata: { name: web }, spec: { nodeName: node, containers: [{ name: web, image: web }] } }`;
const START = "2030-01-01T00:00:00Z";

function creating(reason = "ContainerCreating"): PodStatus {
  const container = { name: "web", image: "web", imageID: "", ready: false, restartCount: 0 };
  return {
    ...{ phase: "Pending", startTime: START },
    containerStatuses: [{ ...container, lastState: {}, state: { waiting: { reason } } }],
  };
}

const RUNNING: PodStatus = { phase: "Running", startTime: START, podIP: "10.0.0.1" };

async function start(podsStarting: number) {
  const cluster = await startCluster({});
  await cluster.apply(POD);
  const { clock, transport } = cluster;
  const random = seededRandom(1);
  const client = new Client({ transport, clock, random, fieldManager: "test" });
  const starts = new ConcurrentStarts(clock);
  for (let i = 0; i < podsStarting; i++) void starts.count(() => new Promise(() => undefined));
  const pod = (): Pod => cluster.list<Pod>(podKind)[0]!;
  const life = new AbortController();
  const manager = new StatusManager(
    {
      ...{ client, clock, random, logger: silentLogger, apiPod: pod },
      waitForTurn: (signal) => starts.few(5_000, signal),
    },
    life.signal,
  );
  const sent = (): string | undefined => pod().status.startTime && pod().status.phase;
  return { cluster, manager, pod, sent, end: () => life.abort() };
}

test("pod status: the first status of a pod is sent at once while few pods are being started", async () => {
  const { cluster, manager, pod, sent } = await start(4);
  await using _ = cluster;
  manager.set(pod(), creating());
  await cluster.advance("100ms");
  assert.equal(sent(), "Pending");
});

test("pod status: the first status is held back while many pods are being started, 5 seconds at most", async () => {
  const { cluster, manager, pod, sent } = await start(5);
  await using _ = cluster;
  manager.set(pod(), creating());
  await cluster.advance("4900ms");
  assert.equal(sent(), undefined);
  await cluster.advance("200ms");
  assert.equal(sent(), "Pending");
});

test("pod status: a pod that runs, and one that cannot start, is reported at once while many are being started", async () => {
  for (const [next, phase] of [
    [RUNNING, "Running"],
    [creating("ErrImagePull"), "Pending"],
  ] as const) {
    const { cluster, manager, pod, sent } = await start(5);
    await using _ = cluster;
    manager.set(pod(), creating());
    await cluster.advance("100ms");
    assert.equal(sent(), undefined);
    manager.set(pod(), next);
    await cluster.advance("100ms");
    assert.equal(sent(), phase);
  }
});

test("pod status: a first status that is held back when the kubelet ends is sent then", async () => {
  const { cluster, manager, pod, sent, end } = await start(5);
  await using _ = cluster;
  manager.set(pod(), creating());
  await cluster.advance("100ms");
  assert.equal(sent(), undefined);
  end();
  await manager.flushed();
  assert.equal(sent(), "Pending");
});
