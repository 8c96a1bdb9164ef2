import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { SimulatedCloud } from "../providers/simulated/simulated-cloud.ts";
import { createSimulatedProvider } from "../providers/simulated/simulated-provider.ts";
import { cloudNode } from "./cloud-node.ts";
import { cloudNodeLifecycle } from "./cloud-node-lifecycle.ts";
import { addressesFrom } from "./node-facts.ts";

const UNINITIALIZED = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
};
const SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown";
const { signal } = new AbortController();

async function world(): Promise<{ cluster: Cluster; cloud: SimulatedCloud }> {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const cloud = new SimulatedCloud({ clock });
  const { instances, zones } = createSimulatedProvider(cloud);
  const controllers = [
    cloudNode({ instances: instances!, zones, statusUpdateMs: 300_000 }),
    cloudNodeLifecycle({ instances: instances!, monitorPeriodMs: 5_000 }),
  ];
  return { cluster: await startCluster({ clock, controllers }), cloud };
}

const ready = (status: "True" | "False" | "Unknown") => [{ type: "Ready", status }] as never;

describe("cloud-node controller", () => {
  test("an uninitialized node gets providerID, addresses, labels and loses the taint", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await cloud.createMachine({ name: "a", type: "large", zone: "z1", region: "r1" }, signal);
    await cluster.seed(nodeKind, {
      metadata: { name: "a" },
      spec: { taints: [UNINITIALIZED, { key: "other", effect: "NoSchedule" }] },
      status: { addresses: [{ type: "Hostname", address: "a.example" }] },
    });
    const node = cluster.get(nodeKind, "a");
    assert.equal(node?.spec.providerID, "simulated://m-1");
    assert.deepEqual(
      node?.spec.taints?.map(({ key }) => key),
      ["other"],
    );
    assert.deepEqual(node?.status.addresses, [
      { type: "InternalIP", address: "192.0.2.1" },
      { type: "Hostname", address: "a.example" },
    ]);
    assert.deepEqual(node?.metadata.labels, {
      "beta.kubernetes.io/instance-type": "large",
      "node.kubernetes.io/instance-type": "large",
      "failure-domain.beta.kubernetes.io/zone": "z1",
      "topology.kubernetes.io/zone": "z1",
      "failure-domain.beta.kubernetes.io/region": "r1",
      "topology.kubernetes.io/region": "r1",
    });
    assert.deepEqual(
      cluster.events.map(({ reason, message }) => `${reason}: ${message}`),
      ["Synced: Node synced successfully"],
    );
  });

  test("a node whose machine is not there yet keeps the taint and is tried again", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await cluster.seed(nodeKind, {
      metadata: { name: "a" },
      spec: { taints: [UNINITIALIZED] },
      status: { conditions: ready("True") },
    });
    assert.equal(cluster.get(nodeKind, "a")?.spec.taints?.length, 1);
    await cloud.createMachine({ name: "a" }, signal);
    await cluster.advance(60_000);
    assert.deepEqual(cluster.get(nodeKind, "a")?.spec.taints ?? [], []);
  });

  test("addresses are compared with the cloud's every --node-status-update-frequency", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await cloud.createMachine({ name: "a", address: "192.0.2.77" }, signal);
    await cluster.seed(nodeKind, {
      metadata: { name: "a" },
      status: { conditions: ready("True") },
    });
    assert.equal(cluster.get(nodeKind, "a")?.status.addresses?.[0]?.address, "192.0.2.77");
    const asked = cloud.calls("machine.get");
    await cluster.advance(299_999);
    assert.equal(cloud.calls("machine.get"), asked);
    await cluster.advance(1);
    assert.equal(cloud.calls("machine.get"), asked + 1);
  });

  test("new topology labels follow the old ones", async () => {
    const { cluster } = await world();
    await using _ = cluster;
    const labels = {
      "failure-domain.beta.kubernetes.io/zone": "z1",
      "topology.kubernetes.io/zone": "wrong",
    };
    await cluster.seed(nodeKind, {
      metadata: { name: "a", labels },
      status: { conditions: ready("True") },
    });
    const now = cluster.get(nodeKind, "a")?.metadata.labels;
    assert.equal(now?.["topology.kubernetes.io/zone"], "z1");
  });

  const nodeWith = (provided: string): Node =>
    build(nodeKind, {
      metadata: { name: "a", annotations: { "alpha.kubernetes.io/provided-node-ip": provided } },
    });
  const cloudAddresses = [
    { type: "InternalIP", address: "10.0.0.1" },
    { type: "InternalIP", address: "10.0.0.2" },
    { type: "ExternalIP", address: "203.0.113.1" },
  ] as const;

  test("provided-node-ip: it is the only address of its type, and first", () => {
    assert.deepEqual(
      addressesFrom(nodeWith("10.0.0.2"), cloudAddresses).map(({ address }) => address),
      ["10.0.0.2", "203.0.113.1"],
    );
  });

  test("provided-node-ip: one that the cloud does not know is an error", () => {
    assert.throws(
      () => addressesFrom(nodeWith("10.9.9.9"), cloudAddresses),
      /failed to get node address from cloud provider that matches ip: 10.9.9.9/,
    );
  });
});

describe("cloud-node-lifecycle controller", () => {
  test("a machine that is deleted takes its Node with it, once the Node is not Ready", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    const machine = await cloud.createMachine({ name: "a" }, signal);
    await cluster.seed(nodeKind, {
      metadata: { name: "a" },
      spec: { providerID: `simulated://${machine.id}` },
      status: { conditions: ready("True") },
    });
    await cloud.deleteMachine(machine.id, signal);
    await cluster.advance(60_000);
    assert.deepEqual(cluster.names(nodeKind), ["a"]);
    await cluster.edit(nodeKind, "a", (n) => void (n.status.conditions = ready("Unknown")));
    assert.deepEqual(cluster.names(nodeKind), []);
    assert.equal(
      cluster.events.at(-1)?.message,
      "Deleting node a because it does not exist in the cloud provider",
    );
  });

  test("a machine that is shut down taints its Node until it is Ready again", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    const machine = await cloud.createMachine({ name: "a" }, signal);
    await cluster.seed(nodeKind, {
      metadata: { name: "a" },
      spec: { providerID: `simulated://${machine.id}` },
      status: { conditions: ready("Unknown") },
    });
    const taints = () => cluster.get(nodeKind, "a")?.spec.taints?.map(({ key }) => key) ?? [];
    assert.deepEqual(taints(), []);
    await cloud.setMachineState(machine.id, "stopped", signal);
    await cluster.advance(5_000);
    assert.deepEqual(taints(), [SHUTDOWN]);
    await cluster.edit(nodeKind, "a", (n) => void (n.status.conditions = ready("True")));
    assert.deepEqual(taints(), []);
  });

  test("a cloud that fails deletes no Node", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    cloud.setFaults([{ operation: "machine.get", message: "down" }]);
    await cluster.seed(nodeKind, {
      metadata: { name: "a" },
      status: { conditions: ready("False") },
    });
    await cluster.advance(60_000);
    assert.deepEqual(cluster.names(nodeKind), ["a"]);
  });
});
