import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Taint, Toleration } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { taintEviction } from "./taint-eviction.ts";

const AT = "2030-01-01T00:00:00Z";
const TAINT: Taint = { key: "k", effect: "NoExecute" };
const OTHER: Taint = { key: "l", effect: "NoExecute" };

async function world(tolerations: readonly Toleration[]): Promise<Cluster> {
  const cluster = await startCluster({ at: AT, controllers: [taintEviction] });
  await cluster.seed(nodeKind, { metadata: { name: "n" } });
  await cluster.seed(podKind, {
    metadata: { name: "p", finalizers: ["test/keep"] },
    spec: { nodeName: "n", tolerations, containers: [{ name: "c", image: "i" }] },
  });
  return cluster;
}

const taint = (cluster: Cluster, ...taints: Taint[]) =>
  cluster.edit(nodeKind, "n", (node) => void (node.spec.taints = taints.map((t) => ({ ...t }))));
const isEvicted = (cluster: Cluster): boolean =>
  cluster.get(podKind, "p")?.metadata.deletionTimestamp !== undefined;
const eventsOf = (cluster: Cluster): readonly string[] =>
  cluster.events.map(({ reason, message }) => `${reason}: ${message}`);

describe("taint eviction", () => {
  const rows: {
    name: string;
    tolerations: readonly Toleration[];
    taints: readonly Taint[];
    afterSeconds: number | undefined;
  }[] = [
    {
      name: "a pod without a toleration is evicted at once",
      tolerations: [],
      taints: [TAINT],
      afterSeconds: 0,
    },
    {
      name: "a toleration without tolerationSeconds keeps the pod",
      tolerations: [{ key: "k", operator: "Exists" }],
      taints: [TAINT],
      afterSeconds: undefined,
    },
    {
      name: "tolerated for a while",
      tolerations: [{ key: "k", operator: "Exists", tolerationSeconds: 300 }],
      taints: [TAINT],
      afterSeconds: 300,
    },
    {
      name: "the shortest while counts",
      tolerations: [
        { key: "k", operator: "Exists", tolerationSeconds: 300 },
        { key: "l", operator: "Exists", tolerationSeconds: 60 },
      ],
      taints: [TAINT, OTHER],
      afterSeconds: 60,
    },
    {
      name: "a pod that tolerates one of two taints is evicted at once",
      tolerations: [{ key: "k", operator: "Exists" }],
      taints: [TAINT, OTHER],
      afterSeconds: 0,
    },
    {
      name: "tolerated for no time",
      tolerations: [{ operator: "Exists", tolerationSeconds: -5 }],
      taints: [TAINT],
      afterSeconds: 0,
    },
    {
      name: "NoSchedule taints evict no pods",
      tolerations: [],
      taints: [{ key: "k", effect: "NoSchedule" }],
      afterSeconds: undefined,
    },
  ];
  for (const { name, tolerations, taints, afterSeconds } of rows) {
    test(name, async () => {
      await using cluster = await world(tolerations);
      await taint(cluster, ...taints);
      if (afterSeconds !== undefined && afterSeconds > 0) {
        await cluster.advance(afterSeconds * 1000 - 1);
        assert.equal(isEvicted(cluster), false);
      }
      await cluster.advance(afterSeconds === undefined ? 86_400_000 : 1);
      assert.equal(isEvicted(cluster), afterSeconds !== undefined);
    });
  }

  test("what happens to the pod is said in its status and in an event", async () => {
    await using cluster = await world([]);
    await taint(cluster, TAINT);
    const condition = cluster
      .get(podKind, "p")
      ?.status.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [condition?.status, condition?.reason, condition?.message],
      ["True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"],
    );
    assert.deepEqual(eventsOf(cluster), [
      "TaintManagerEviction: Marking for deletion Pod default/p",
    ]);
  });

  test("a taint that goes in time spares the pod", async () => {
    await using cluster = await world([{ operator: "Exists", tolerationSeconds: 300 }]);
    await taint(cluster, TAINT);
    await cluster.advance(299_000);
    await taint(cluster);
    await cluster.advance(86_400_000);
    assert.equal(isEvicted(cluster), false);
    assert.deepEqual(eventsOf(cluster), [
      "TaintManagerEviction: Cancelling deletion of Pod default/p",
    ]);
  });

  test("another taint does not start the time anew", async () => {
    await using cluster = await world([{ operator: "Exists", tolerationSeconds: 300 }]);
    await taint(cluster, TAINT);
    await cluster.advance(200_000);
    await taint(cluster, TAINT, OTHER);
    await cluster.advance(100_000);
    assert.equal(isEvicted(cluster), true);
  });

  test("a pod that comes to a tainted node goes again", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [taintEviction] });
    await cluster.seed(nodeKind, { metadata: { name: "n" }, spec: { taints: [TAINT] } });
    await cluster.seed(podKind, {
      metadata: { name: "p", finalizers: ["test/keep"] },
      spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
    });
    assert.equal(isEvicted(cluster), true);
  });
});
