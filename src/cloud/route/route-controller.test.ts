import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { build } from "#testing/build.ts";
import { startCluster } from "#testing/cluster.ts";
import type { Route } from "../provider.ts";
import { SimulatedCloud } from "../providers/simulated/simulated-cloud.ts";
import { createSimulatedProvider } from "../providers/simulated/simulated-provider.ts";
import { planRoutes } from "./plan-routes.ts";
import { routeController } from "./route-controller.ts";

const addresses = [{ type: "InternalIP", address: "192.0.2.1" }] as const;
const other = [{ type: "InternalIP", address: "192.0.2.9" }] as const;
const node: Node = build(nodeKind, {
  metadata: { name: "a" },
  spec: { podCIDRs: ["10.244.1.0/24"] },
  status: { addresses },
});
const route = (targetNode: string, destinationCidr: string, more: Partial<Route> = {}): Route => ({
  name: `${targetNode}-route`,
  targetNode,
  destinationCidr,
  ...more,
});

const rows: { name: string; routes: readonly Route[]; want: string }[] = [
  { name: "none yet", routes: [], want: "remove [] create [a 10.244.1.0/24]" },
  { name: "there", routes: [route("a", "10.244.1.0/24")], want: "remove [] create []" },
  {
    name: "of a node that is gone",
    routes: [route("a", "10.244.1.0/24"), route("b", "10.244.2.0/24")],
    want: "remove [b 10.244.2.0/24] create []",
  },
  {
    name: "outside the cluster's range is another's",
    routes: [route("a", "10.244.1.0/24"), route("b", "10.1.0.0/24")],
    want: "remove [] create []",
  },
  {
    name: "a route around the cluster's range, such as the default route, is another's",
    routes: [
      ...[route("a", "10.244.1.0/24"), route("b", "0.0.0.0/0"), route("b", "10.0.0.0/8")],
      ...[route("b", "10.244.0.0/15")],
    ],
    want: "remove [b 10.244.0.0/15] create []",
  },
  {
    name: "a blackhole is made anew",
    routes: [route("a", "10.244.1.0/24", { blackhole: true })],
    want: "remove [a 10.244.1.0/24] create [a 10.244.1.0/24]",
  },
  {
    name: "to addresses that the node had before",
    routes: [route("a", "10.244.1.0/24", { targetNodeAddresses: other })],
    want: "remove [a 10.244.1.0/24] create [a 10.244.1.0/24]",
  },
  {
    name: "to the addresses that the node has",
    routes: [route("a", "10.244.1.0/24", { targetNodeAddresses: addresses })],
    want: "remove [] create []",
  },
];

describe("route controller", () => {
  for (const { name, routes, want } of rows) {
    test(`plan of routes: ${name}`, () => {
      const plan = planRoutes([node], routes, ["10.244.0.0/16"]);
      const text = (r: Route): string => `${r.targetNode} ${r.destinationCidr}`;
      const made = plan.create.map((planned) => text(planned.route));
      assert.equal(`remove [${plan.remove.map(text)}] create [${made}]`, want);
    });
  }

  test("NetworkUnavailable says whether the routes of a node are there", async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const cloud = new SimulatedCloud({ clock });
    const routes = createSimulatedProvider(cloud).routes!;
    const clusterCidrs = ["10.244.0.0/16"];
    const controllers = [
      routeController({ routes, clusterName: "kubernetes", clusterCidrs, periodMs: 10_000 }),
    ];
    await using cluster = await startCluster({ clock, controllers });
    cloud.setFaults([{ operation: "route.create", message: "full", times: 1 }]);
    await cluster.seed(nodeKind, {
      metadata: { name: "a" },
      spec: { podCIDRs: ["10.244.1.0/24"] },
    });
    const condition = (): string => {
      const all = cluster.get(nodeKind, "a")?.status.conditions ?? [];
      const { status, reason } = all.find(({ type }) => type === "NetworkUnavailable") ?? {};
      return `${status} ${reason}`;
    };
    assert.equal(condition(), "True NoRouteCreated");
    assert.equal(cluster.events[0]?.reason, "FailedToCreateRoute");
    const { uid } = cluster.get(nodeKind, "a")!.metadata;
    assert.equal(
      cluster.events[0]?.message,
      `Could not create route ${uid} 10.244.1.0/24 for node a after 0s: full`,
    );
    await cluster.advance(10_000);
    assert.equal(condition(), "False RouteCreated");
    assert.equal(cloud.routes().length, 1);
    // A node that has a route, and no range any more, has no network.
    await cluster.edit(nodeKind, "a", (n) => void delete n.spec.podCIDRs);
    assert.equal(condition(), "True NoRouteCreated");
    assert.equal(cloud.routes().length, 0);
    await cluster.advance(10_000);
    await cluster.edit(nodeKind, "a", (n) => void (n.spec.podCIDRs = ["10.244.2.0/24"]));
    assert.equal(condition(), "False RouteCreated");
    await cluster.client.delete(nodeKind, { name: "a" });
    await cluster.settle();
    assert.equal(cloud.routes().length, 0);
  });
});
