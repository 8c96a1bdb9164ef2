import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { ipAddressKind } from "#api/kinds/networking/v1/ip-address.ts";
import { serviceCidrKind } from "#api/kinds/networking/v1/service-cidr.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { serviceCidrController } from "./service-cidr.ts";

const AT = "2030-01-01T00:00:00Z";

async function world(address: string, ...ranges: string[]): Promise<Cluster> {
  const cluster = await startCluster({ at: AT, controllers: [serviceCidrController] });
  for (const [i, range] of ranges.entries()) {
    await cluster.seed(serviceCidrKind, { metadata: { name: `r${i}` }, spec: { cidrs: [range] } });
  }
  await cluster.seed(ipAddressKind, {
    metadata: {
      name: address,
      labels: { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" },
    },
    spec: { parentRef: { resource: "services", namespace: "default", name: "s" } },
  });
  return cluster;
}

const get = (cluster: Cluster) => cluster.get(serviceCidrKind, "r0");

describe("service cidr", () => {
  test("a new range is kept and ready", async () => {
    await using cluster = await world("10.0.0.1", "10.0.0.0/24");
    assert.deepEqual(get(cluster)?.metadata.finalizers, [
      "networking.k8s.io/service-cidr-finalizer",
    ]);
    assert.deepEqual(get(cluster)?.status.conditions, [
      {
        type: "Ready",
        status: "True",
        reason: "",
        message: "Kubernetes Service CIDR is ready",
        lastTransitionTime: AT,
      },
    ]);
  });

  const rows: { name: string; address: string; ranges: string[]; kept: boolean }[] = [
    { name: "no address of its own", address: "10.9.0.1", ranges: ["10.0.0.0/24"], kept: false },
    { name: "an address", address: "10.0.0.1", ranges: ["10.0.0.0/24"], kept: true },
    {
      name: "an address that another range holds",
      address: "10.0.0.1",
      ranges: ["10.0.0.0/24", "10.0.0.0/28"],
      kept: false,
    },
    {
      name: "within another range",
      address: "10.0.0.1",
      ranges: ["10.0.0.0/24", "10.0.0.0/16"],
      kept: false,
    },
    {
      name: "beside another range",
      address: "10.0.0.200",
      ranges: ["10.0.0.0/24", "10.0.0.0/28"],
      kept: true,
    },
    { name: "of the other family", address: "fd00::1", ranges: ["10.0.0.0/8"], kept: false },
  ];
  for (const { name, address, ranges, kept } of rows) {
    test(`deleting a range with: ${name}`, async () => {
      await using cluster = await world(address, ...ranges);
      await cluster.client.delete(serviceCidrKind, { name: "r0" });
      await cluster.settle();
      const ready = get(cluster)?.status.conditions?.[0];
      assert.equal(ready?.reason, kept ? "Terminating" : "");
      await cluster.advance(9_999);
      assert.ok(get(cluster) !== undefined);
      await cluster.advance(1);
      assert.equal(get(cluster) !== undefined, kept);
    });
  }

  test("a range goes when its last address has gone", async () => {
    await using cluster = await world("10.0.0.1", "10.0.0.0/24");
    await cluster.client.delete(serviceCidrKind, { name: "r0" });
    await cluster.advance(60_000);
    assert.equal(get(cluster)?.status.conditions?.[0]?.status, "False");
    await cluster.client.delete(ipAddressKind, { name: "10.0.0.1" });
    await cluster.settle();
    assert.equal(get(cluster), undefined);
  });
});
