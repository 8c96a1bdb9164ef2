import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { createPodGarbageCollector } from "./pod-garbage-collector.ts";

const AT = "2030-01-01T00:00:00Z";

const start = (threshold = 3): Promise<Cluster> =>
  startCluster({ at: AT, controllers: [createPodGarbageCollector(threshold)] });

const pod = (
  name: string,
  parts: {
    metadata?: Draft<Pod["metadata"]>;
    spec?: Draft<Pod["spec"]>;
    status?: Draft<Pod["status"]>;
  } = {},
): Draft<Pod> => ({
  metadata: { name, ...parts.metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...parts.spec },
  status: { phase: "Running", ...parts.status },
});

describe("pod garbage collector", () => {
  test("pods of a node that is gone fail and go, after a while", async () => {
    await using cluster = await start();
    await cluster.seed(nodeKind, { metadata: { name: "n1" } });
    await cluster.seed(
      podKind,
      pod("a", {
        metadata: { finalizers: ["example.com/look"], generation: 3 },
        spec: { nodeName: "n1" },
      }),
    );
    await cluster.advance(3_600_000);
    await cluster.client.delete(nodeKind, { name: "n1" });
    await cluster.advance(39_000);
    assert.equal(cluster.get(podKind, "a")?.metadata.deletionTimestamp, undefined);
    await cluster.advance(1_000);
    const { metadata, status } = cluster.get(podKind, "a")!;
    assert.notEqual(metadata.deletionTimestamp, undefined);
    assert.equal(status.phase, "Failed");
    const condition = status.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [condition?.reason, condition?.message, condition?.observedGeneration],
      ["DeletionByPodGC", "PodGC: node no longer exists", 3],
    );
    assert.equal(status.observedGeneration, 3);
  });

  test("a node that comes back in time keeps its pods", async () => {
    await using cluster = await start();
    await cluster.seed(podKind, pod("a", { spec: { nodeName: "n1" } }));
    await cluster.advance(30_000);
    await cluster.seed(nodeKind, { metadata: { name: "n1" } });
    await cluster.advance(600_000);
    assert.deepEqual(cluster.names(podKind), ["a"]);
    await cluster.client.delete(nodeKind, { name: "n1" });
    await cluster.advance(39_000);
    assert.deepEqual(cluster.names(podKind), ["a"]);
    await cluster.advance(1_000);
    assert.deepEqual(cluster.names(podKind), []);
  });

  test("a deleted pod goes at once where no kubelet will end it", async () => {
    await using cluster = await start();
    const deleted = {
      deletionTimestamp: AT,
      deletionGracePeriodSeconds: 30,
    };
    await cluster.seed(podKind, pod("nowhere", { metadata: deleted }));
    assert.deepEqual(cluster.names(podKind), []);
    await cluster.seed(nodeKind, {
      metadata: { name: "n1" },
      status: { conditions: [{ type: "Ready", status: "Unknown" }] },
    });
    await cluster.seed(podKind, pod("there", { metadata: deleted, spec: { nodeName: "n1" } }));
    await cluster.advance(600_000);
    assert.deepEqual(cluster.names(podKind), ["there"]);
    await cluster.edit(nodeKind, "n1", (node) => {
      node.spec.taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
    });
    assert.deepEqual(cluster.names(podKind), []);
  });

  test("of too many that have ended the evicted go first, then the oldest", async () => {
    await using cluster = await start(2);
    for (const [name, reason] of [
      ["old", ""],
      ["middle", ""],
      ["evicted", "Evicted"],
    ] as const) {
      await cluster.seed(podKind, pod(name, { status: { phase: "Failed", reason } }));
      await cluster.advance(1_000);
    }
    assert.deepEqual(cluster.names(podKind), ["middle", "old"]);
    await cluster.seed(podKind, pod("new", { status: { phase: "Succeeded" } }));
    assert.deepEqual(cluster.names(podKind), ["middle", "new"]);
  });

  test("a threshold of zero keeps them all", async () => {
    await using cluster = await start(0);
    await cluster.seed(podKind, pod("a", { status: { phase: "Failed" } }));
    await cluster.advance(86_400_000);
    assert.deepEqual(cluster.names(podKind), ["a"]);
  });
});
