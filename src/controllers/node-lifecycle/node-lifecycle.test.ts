import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, NodeCondition, Taint } from "#api/generated/core.v1.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { taintEviction } from "../taint-eviction.ts";
import { nodeHealth } from "./health.ts";
import { schedulingTaints } from "./taints.ts";
import { decide as decideZones, nodeEviction } from "./zones.ts";

const AT = "2030-01-01T00:00:00Z";
const AT_MS = Date.parse(AT);
const EVICTION = { rate: 0.1, secondaryRate: 0.01, largeZoneMin: 50, unhealthyShare: 0.55 };
const health = nodeHealth({ gracePeriodMs: 50_000, startupGracePeriodMs: 60_000 });
const controllers = [health, nodeEviction(EVICTION), taintEviction];

function node(name: string, ready = "True", zone = ""): Draft<Node> {
  return {
    metadata: {
      name,
      creationTimestamp: AT,
      ...(zone === "" ? {} : { labels: { "topology.kubernetes.io/zone": zone } }),
    },
    status: {
      conditions: [
        {
          type: "Ready",
          status: ready as NodeCondition["status"],
          reason: "KubeletReady",
          lastHeartbeatTime: AT,
          lastTransitionTime: AT,
        },
      ],
    },
  };
}

async function renew(cluster: Cluster, name: string): Promise<void> {
  const renewTime = microTimeFromMs(cluster.clock.nowMs());
  const found = cluster.get(leaseKind, name, "kube-node-lease");
  if (found === undefined) {
    const metadata = { name, namespace: "kube-node-lease" };
    await cluster.seed(leaseKind, { metadata, spec: { renewTime } });
  } else {
    await cluster.edit(
      leaseKind,
      name,
      (lease) => void (lease.spec.renewTime = renewTime),
      "kube-node-lease",
    );
  }
}

const taintsOf = (cluster: Cluster, name: string): readonly string[] =>
  (cluster.get(nodeKind, name)?.spec.taints ?? []).map(
    ({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`,
  );

const readyOf = (cluster: Cluster, name: string): NodeCondition | undefined =>
  cluster.get(nodeKind, name)?.status.conditions?.find(({ type }) => type === "Ready");

describe("node health", () => {
  test("a node whose lease is renewed stays as it is, hour after hour", async () => {
    await using cluster = await startCluster({ at: AT, controllers });
    await cluster.seed(nodeKind, node("a"));
    for (let i = 0; i < 360; i++) {
      await renew(cluster, "a");
      await cluster.advance(10_000);
    }
    assert.equal(readyOf(cluster, "a")?.status, "True");
    assert.deepEqual(taintsOf(cluster, "a"), []);
    assert.deepEqual(
      cluster.events.map(({ message }) => message),
      ["Node a event: Registered Node a in Controller"],
    );
  });

  test("a silent node is unknown, unschedulable, and its pods are not ready", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [health] });
    await cluster.seed(nodeKind, node("a"));
    await cluster.seed(podKind, {
      metadata: { name: "p" },
      spec: { nodeName: "a", containers: [{ name: "c", image: "i" }] },
      status: { conditions: [{ type: "Ready", status: "True", lastTransitionTime: AT }] },
    });
    await cluster.advance(50_000);
    assert.equal(readyOf(cluster, "a")?.status, "True");
    await cluster.advance(1);
    const ready = readyOf(cluster, "a");
    assert.deepEqual(
      [ready?.status, ready?.reason, ready?.message, ready?.lastTransitionTime],
      [
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        "2030-01-01T00:00:50Z",
      ],
    );
    assert.deepEqual(
      cluster.get(nodeKind, "a")?.status.conditions?.map(({ type, reason }) => [type, reason]),
      [
        ["Ready", "NodeStatusUnknown"],
        ["MemoryPressure", "NodeStatusNeverUpdated"],
        ["DiskPressure", "NodeStatusNeverUpdated"],
        ["PIDPressure", "NodeStatusNeverUpdated"],
      ],
    );
    assert.deepEqual(taintsOf(cluster, "a"), ["unreachable:NoSchedule"]);
    assert.equal(cluster.get(podKind, "p")?.status.conditions?.[0]?.status, "False");
    assert.deepEqual(
      cluster.events.slice(1).map(({ name, type, message }) => [name, type, message]),
      [
        ["a", "Normal", "Node a status is now: NodeNotReady"],
        ["p", "Warning", "Node is not ready"],
      ],
    );
  });

  test("a node that never reports has a minute", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [health] });
    await cluster.seed(nodeKind, { metadata: { name: "a", creationTimestamp: AT } });
    await cluster.advance(60_000);
    assert.equal(readyOf(cluster, "a"), undefined);
    await cluster.advance(1);
    const ready = readyOf(cluster, "a");
    assert.deepEqual(
      [ready?.status, ready?.reason, ready?.lastHeartbeatTime],
      ["Unknown", "NodeStatusNeverUpdated", AT],
    );
  });

  test("a node that is back is as before", async () => {
    await using cluster = await startCluster({ at: AT, controllers });
    await cluster.seed(nodeKind, node("a"));
    await cluster.advance(60_000);
    await cluster.edit(nodeKind, "a", ({ status }) => {
      const ready = status.conditions?.find(({ type }) => type === "Ready");
      Object.assign(ready!, { status: "True", lastHeartbeatTime: "2030-01-01T00:01:00Z" });
    });
    assert.deepEqual(taintsOf(cluster, "a"), []);
    await cluster.advance(49_000);
    assert.equal(readyOf(cluster, "a")?.status, "True");
  });

  test("beta labels follow the stable ones; RemovingNode is recorded for a deleted node", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [health] });
    const labels = { "kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "x" };
    await cluster.seed(nodeKind, { ...node("a"), metadata: { name: "a", labels } });
    assert.equal(cluster.get(nodeKind, "a")?.metadata.labels?.["beta.kubernetes.io/os"], "linux");
    await cluster.client.delete(nodeKind, { name: "a" });
    await cluster.settle();
    assert.equal(cluster.events.at(-1)?.message, "Node a event: Removing Node a from Controller");
  });
});

describe("NoSchedule taints of node conditions", () => {
  const other = { key: "mine", effect: "NoSchedule" } as const;
  const pressure = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" } as const;
  const rows: {
    name: string;
    taints: readonly Taint[];
    type: string;
    status: "True" | "False" | "Unknown";
    unschedulable?: boolean;
    want: string[] | undefined;
  }[] = [
    {
      name: "a ready node keeps its own taints",
      taints: [other],
      type: "Ready",
      status: "True",
      want: undefined,
    },
    {
      name: "DiskPressure adds its taint",
      taints: [other],
      type: "DiskPressure",
      status: "True",
      want: ["mine", "node.kubernetes.io/disk-pressure"],
    },
    {
      name: "MemoryPressure that ends removes its taint",
      taints: [pressure, other],
      type: "MemoryPressure",
      status: "False",
      want: ["mine"],
    },
    {
      name: "a taint that the node has is not added again",
      taints: [pressure],
      type: "MemoryPressure",
      status: "True",
      want: undefined,
    },
    {
      name: "a cordoned node gets the taint unschedulable",
      taints: [],
      type: "Ready",
      status: "True",
      unschedulable: true,
      want: ["node.kubernetes.io/unschedulable"],
    },
  ];
  for (const { name, taints, type, status, unschedulable = false, want } of rows) {
    test(name, () => {
      const given = completed(nodeKind, {
        metadata: { name: "a" },
        spec: { taints, unschedulable },
        status: { conditions: [{ type, status }] },
      });
      assert.deepEqual(
        schedulingTaints(given, AT_MS)?.map(({ key }) => key),
        want,
      );
    });
  }
});

describe("NoExecute taints by zone", () => {
  const nodes = (counts: Readonly<Record<string, readonly [ready: number, lost: number]>>) =>
    Object.entries(counts).flatMap(([zone, [ready, lost]]) =>
      Array.from(
        { length: ready + lost },
        (_, i) =>
          ({ spec: {}, ...node(`${zone}${i}`, i < ready ? "True" : "Unknown", zone) }) as Node,
      ),
    );
  const rows: {
    name: string;
    counts: Parameters<typeof nodes>[0];
    last?: Readonly<Record<string, number>>;
    tainted: number;
    recheckInMs?: number;
  }[] = [
    { name: "one lost node of three is tainted at once", counts: { a: [2, 1] }, tainted: 1 },
    {
      name: "the second lost node of a zone waits ten seconds",
      counts: { a: [2, 2] },
      tainted: 1,
      recheckInMs: 10_000,
    },
    {
      name: "a lost node waits for ten seconds since the last one",
      counts: { a: [2, 1] },
      last: { ":\0:a": AT_MS - 4000 },
      tainted: 0,
      recheckInMs: 6000,
    },
    { name: "a small zone that is partly lost", counts: { a: [2, 3] }, tainted: 0 },
    {
      name: "a large zone that is partly lost",
      counts: { a: [20, 40] },
      tainted: 1,
      recheckInMs: 100_000,
    },
    {
      name: "a zone that is lost, where others are not",
      counts: { a: [0, 3], b: [1, 0] },
      tainted: 1,
      recheckInMs: 10_000,
    },
    { name: "zones have their own turns", counts: { a: [3, 1], b: [3, 1] }, tainted: 2 },
    { name: "everything is lost", counts: { a: [0, 3], b: [0, 2] }, tainted: 0 },
  ];
  for (const { name, counts, last = {}, tainted, recheckInMs } of rows) {
    test(name, () => {
      const state = { nodes: nodes(counts), lastTainted: last };
      const outcome = decideZones(state, EVICTION, AT_MS);
      assert.equal(outcome.writes?.flat().length, tainted);
      assert.equal(outcome.recheckInMs, recheckInMs);
    });
  }

  test("one node after the other loses its pods; those that are ready again keep theirs", async () => {
    await using cluster = await startCluster({
      at: AT,
      controllers: [nodeEviction(EVICTION), taintEviction],
    });
    for (const name of ["a", "b", "c", "d", "e"]) await cluster.seed(nodeKind, node(name));
    const lose = async (name: string, status: "False" | "Unknown" | "True") => {
      await cluster.edit(nodeKind, name, (n) => void (n.status.conditions![0]!.status = status));
      await cluster.advance(100); // changes are merged for that long
    };
    await lose("a", "Unknown");
    await lose("b", "False");
    assert.deepEqual(taintsOf(cluster, "a"), ["unreachable:NoExecute"]);
    assert.deepEqual(taintsOf(cluster, "b"), []);
    await cluster.advance(10_000);
    assert.deepEqual(taintsOf(cluster, "b"), ["not-ready:NoExecute"]);
    await lose("b", "Unknown");
    assert.deepEqual(taintsOf(cluster, "b"), ["unreachable:NoExecute"]);
    await lose("a", "True");
    assert.deepEqual(taintsOf(cluster, "a"), []);
    for (const name of ["a", "c", "d", "e"]) await lose(name, "Unknown");
    assert.deepEqual(taintsOf(cluster, "b"), []);
    await cluster.advance(3_600_000);
    assert.deepEqual(taintsOf(cluster, "c"), []);
  });
});
