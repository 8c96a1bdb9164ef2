import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import type { CloudProvider } from "../provider.ts";
import { SimulatedCloud } from "../providers/simulated/simulated-cloud.ts";
import { createSimulatedProvider } from "../providers/simulated/simulated-provider.ts";
import { serviceController } from "./service-controller.ts";

type Balancers = NonNullable<CloudProvider["loadBalancers"]>;

const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";

async function world(
  change: (balancers: Balancers) => Balancers = (balancers) => balancers,
): Promise<{ cluster: Cluster; cloud: SimulatedCloud }> {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const cloud = new SimulatedCloud({ clock });
  const balancers = change(createSimulatedProvider(cloud).loadBalancers!);
  const controllers = [serviceController({ balancers, clusterName: "kubernetes", workers: 16 })];
  const cluster = await startCluster({ clock, controllers });
  await cluster.seed(nodeKind, { metadata: { name: "a" } });
  return { cluster, cloud };
}

async function expose(cluster: Cluster, name: string, spec: object = {}): Promise<void> {
  await create(cluster, name, spec);
  await cluster.settle();
}

async function create(cluster: Cluster, name: string, spec: object = {}): Promise<void> {
  const made = await cluster.client.create(serviceKind, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name },
    spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
  } as never);
  assert.ok(made.ok, JSON.stringify(made));
}

const reasons = (cluster: Cluster): readonly string[] =>
  cluster.events.map(({ reason, message }) => `${reason}: ${message}`);

describe("service controller (LoadBalancer)", () => {
  test("a Service gets the finalizer, an address in status.loadBalancer and upstream's events", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web");
    const service = cluster.get(serviceKind, "web");
    assert.deepEqual(service?.metadata.finalizers, [FINALIZER]);
    assert.deepEqual(service?.status.loadBalancer, {
      ingress: [{ ip: "203.0.64.1", ipMode: "VIP" }],
    });
    assert.deepEqual(reasons(cluster), [
      "EnsuringLoadBalancer: Ensuring load balancer",
      "EnsuredLoadBalancer: Ensured load balancer",
    ]);
    assert.deepEqual(
      cloud.balancers().map(({ nodes }) => nodes),
      [["a"]],
    );
    assert.equal(cloud.calls("balancer.ensure"), 1);
  });

  test("deletion waits for the load balancer and removes it", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web");
    cloud.setFaults([{ operation: "balancer.remove", message: "busy", times: 1 }]);
    await cluster.client.delete(serviceKind, { namespace: "default", name: "web" });
    await cluster.settle();
    assert.equal(cloud.balancers().length, 1);
    assert.ok(
      reasons(cluster).includes(
        "SyncLoadBalancerFailed: Error syncing load balancer: failed to delete load balancer: busy",
      ),
    );
    await cluster.advance(5_000);
    assert.equal(cloud.balancers().length, 0);
    assert.equal(cluster.get(serviceKind, "web"), undefined);
    assert.equal(reasons(cluster).at(-1), "DeletedLoadBalancer: Deleted load balancer");
  });

  test("a Service that becomes ClusterIP loses load balancer, finalizer and status", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web");
    const key = { namespace: "default", name: "web" };
    const changed = await cluster.client.patch(serviceKind, key, "merge", {
      spec: { type: "ClusterIP" },
    });
    assert.ok(changed.ok);
    await cluster.settle();
    const service = cluster.get(serviceKind, "web");
    assert.equal(cloud.balancers().length, 0);
    assert.deepEqual(service?.metadata.finalizers ?? [], []);
    assert.deepEqual(service?.status.loadBalancer, {});
  });

  test("loadBalancerClass: another implementation's Service is left alone", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web", { loadBalancerClass: "example.com/other" });
    assert.equal(cloud.calls("balancer.ensure"), 0);
    assert.deepEqual(cluster.get(serviceKind, "web")?.metadata.finalizers ?? [], []);
  });

  test("externalTrafficPolicy Local: the health check port reaches the cloud", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web", { externalTrafficPolicy: "Local" });
    const port = cluster.get(serviceKind, "web")?.spec.healthCheckNodePort;
    assert.ok(port !== undefined && port >= 30_000);
    assert.equal(cloud.balancers()[0]?.healthCheckPort, port);
  });

  test("what fails is tried again after 5 s, 10 s, …; a changed Service at once", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    cloud.setFaults([{ operation: "balancer.ensure", message: "no capacity" }]);
    await expose(cluster, "web");
    assert.equal(cloud.calls("balancer.ensure"), 1);
    await cluster.advance(4_999);
    assert.equal(cloud.calls("balancer.ensure"), 1);
    await cluster.advance(1);
    assert.equal(cloud.calls("balancer.ensure"), 2);
    await cluster.edit(serviceKind, "web", (s) => void (s.metadata.labels = { a: "b" }));
    await cluster.advance(9_999);
    assert.equal(cloud.calls("balancer.ensure"), 2);
    await cluster.advance(1);
    assert.equal(cloud.calls("balancer.ensure"), 3);
    cloud.setFaults([]);
    await cluster.edit(serviceKind, "web", (s) => void (s.spec.ports![0]!.port = 81));
    assert.equal(cloud.calls("balancer.ensure"), 4);
    assert.equal(cluster.get(serviceKind, "web")?.status.loadBalancer?.ingress?.length, 1);
  });

  test("retryAfterMs of the cloud's error is kept", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    cloud.setFaults([
      { operation: "balancer.ensure", message: "later", times: 1, retryAfterMs: 60_000 },
    ]);
    await expose(cluster, "web");
    await cluster.advance(59_999);
    assert.equal(cloud.calls("balancer.ensure"), 1);
    await cluster.advance(1);
    assert.equal(cloud.calls("balancer.ensure"), 2);
  });

  test("a cloud that names a time does not reset the back-off", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    const full = { operation: "balancer.ensure", message: "full", times: 1 } as const;
    const later = { ...full, message: "later", retryAfterMs: 1_000 };
    const calls = (): number => cloud.calls("balancer.ensure");
    cloud.setFaults([full]);
    await expose(cluster, "web");
    cloud.setFaults([later]);
    await cluster.advance(5_000);
    assert.equal(calls(), 2);
    cloud.setFaults([full]);
    await cluster.advance(1_000);
    assert.equal(calls(), 3);
    await cluster.advance(9_999);
    assert.equal(calls(), 3);
    await cluster.advance(1);
    assert.equal(calls(), 4);
    assert.equal(cluster.get(serviceKind, "web")?.status.loadBalancer?.ingress?.length, 1);
  });

  const answers = [
    {
      name: "a status that the server refuses",
      answer: { ingress: [{ ip: "nowhere" }] },
      message:
        'failed to update load balancer status: Service "web" is invalid: status.loadBalancer.ingress[0].ip: Invalid value: "nowhere": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    },
    {
      name: "no status",
      answer: undefined as never,
      message: "service status returned by EnsureLoadBalancer is nil",
    },
  ];
  test.each(answers)(
    "ensure that answers $name is asked again after 5 s, 10 s",
    async ({ answer, message }) => {
      let calls = 0;
      const { cluster } = await world((balancers) => ({
        ...balancers,
        ensure: (...args) => (++calls < 3 ? Promise.resolve(answer) : balancers.ensure(...args)),
      }));
      await using _ = cluster;
      await expose(cluster, "web");
      assert.equal(calls, 1);
      assert.ok(
        reasons(cluster).includes(
          `SyncLoadBalancerFailed: Error syncing load balancer: ${message}`,
        ),
        reasons(cluster).join("\n"),
      );
      await cluster.advance(4_999);
      assert.equal(calls, 1);
      await cluster.advance(1);
      assert.equal(calls, 2);
      await cluster.advance(9_999);
      assert.equal(calls, 2);
      await cluster.advance(1);
      assert.equal(calls, 3);
      assert.equal(cluster.get(serviceKind, "web")?.status.loadBalancer?.ingress?.length, 1);
      await cluster.advance(3_600_000);
      assert.equal(calls, 3);
    },
  );

  test("a Service whose finalizer was taken away: failures are DeleteLoadBalancerFailed", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web");
    cloud.setFaults([{ operation: "balancer.remove", message: "busy", times: 2 }]);
    await cluster.client.delete(serviceKind, { namespace: "default", name: "web" });
    await cluster.settle();
    const key = { namespace: "default", name: "web" };
    const changes = { metadata: { finalizers: null } };
    assert.ok((await cluster.client.patch(serviceKind, key, "merge", changes)).ok);
    await cluster.settle();
    assert.equal(cluster.get(serviceKind, "web"), undefined);
    await cluster.advance(5_000);
    assert.deepEqual(reasons(cluster).slice(-2), [
      "DeletingLoadBalancer: Deleting load balancer",
      "DeleteLoadBalancerFailed: Error deleting load balancer: busy",
    ]);
    await cluster.advance(10_000);
    assert.equal(cloud.balancers().length, 0);
    assert.equal(reasons(cluster).at(-1), "DeletedLoadBalancer: Deleted load balancer");
  });

  test("nodes: excluded by label, added and deleted; heartbeats change nothing", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web");
    const label = "node.kubernetes.io/exclude-from-external-load-balancers";
    await cluster.seed(nodeKind, { metadata: { name: "b", labels: { [label]: "" } } });
    assert.equal(cloud.calls("balancer.update"), 0);
    await cluster.edit(nodeKind, "b", (n) => void delete n.metadata.labels?.[label]);
    assert.deepEqual(cloud.balancers()[0]?.nodes, ["a", "b"]);
    const condition = { type: "Ready", status: "False" as const };
    await cluster.edit(nodeKind, "b", (n) => void (n.status.conditions = [condition] as never));
    assert.equal(cloud.calls("balancer.update"), 1);
    await cluster.client.delete(nodeKind, { name: "a" });
    await cluster.client.delete(nodeKind, { name: "b" });
    await cluster.settle();
    assert.deepEqual(cloud.balancers()[0]?.nodes, []);
    assert.equal(
      reasons(cluster).at(-1),
      "UnAvailableLoadBalancer: There are no available nodes for LoadBalancer",
    );
  });

  test("a failed update of nodes records an Event, and the load balancer is ensured again", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    await expose(cluster, "web");
    cloud.setFaults([{ operation: "balancer.update", message: "busy", times: 1 }]);
    await cluster.seed(nodeKind, { metadata: { name: "b" } });
    await cluster.advance(10);
    assert.ok(
      reasons(cluster).includes(
        "UpdateLoadBalancerFailed: Error updating load balancer with new hosts [a b] [node names limited, total number of nodes: 2], error: busy",
      ),
    );
    assert.deepEqual(cloud.balancers()[0]?.nodes, ["a", "b"]);
    assert.equal(cloud.calls("balancer.ensure"), 2);
  });

  test("200 Services: one call each, one update each for a node, nothing when nothing changes", async () => {
    const { cluster, cloud } = await world();
    await using _ = cluster;
    const names = Array.from({ length: 200 }, (_, i) => `s${i}`);
    await Promise.all(names.map((name) => create(cluster, name)));
    await cluster.settle();
    const addresses = cluster.list(serviceKind).map((s) => s.status.loadBalancer?.ingress?.[0]?.ip);
    assert.equal(new Set(addresses.filter((ip) => ip !== undefined)).size, 200);
    assert.equal(cloud.calls("balancer.ensure"), 200);
    await cluster.seed(nodeKind, { metadata: { name: "b" } });
    assert.equal(cloud.calls("balancer.update"), 200);
    await cluster.advance(3_600_000);
    assert.equal(cloud.calls("balancer.update"), 200);
    assert.equal(cloud.calls("balancer.ensure"), 200);
  });
});
