import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { nodeIpam } from "./node-ipam.ts";
import { type Pool, partAt, partsWithin, poolOf } from "./pool.ts";

function pool(cidr: string, partBits: number): Pool {
  const made = poolOf(cidr, partBits);
  if ("fault" in made) throw new Error(made.fault);
  return made;
}

describe("node IPAM: a pool", () => {
  const rows = [
    { cidr: "10.244.0.0/16", bits: 24, index: 255, want: "10.244.255.0/24" },
    { cidr: "10.244.7.9/16", bits: 25, index: 1, want: "10.244.0.128/25" },
    { cidr: "fd00:10:244::/48", bits: 64, index: 65_535, want: "fd00:10:244:ffff::/64" },
    { cidr: "192.168.0.0/24", bits: 24, index: 0, want: "192.168.0.0/24" },
  ];
  for (const { cidr, bits, index, want } of rows) {
    test(`${cidr} in parts of /${bits}`, () => assert.equal(partAt(pool(cidr, bits), index), want));
  }

  test("what cannot be cut so", () => {
    assert.deepEqual(
      [poolOf("10.0.0.0", 24), poolOf("10.0.0.0/16", 8), poolOf("fd00::/32", 64)].map(
        (made) => "fault" in made && made.fault,
      ),
      [
        "10.0.0.0 is not a range of addresses",
        "the range 10.0.0.0/16 has no parts of size /8",
        "the range fd00::/32 has too many parts of size /64",
      ],
    );
  });

  test("partsWithin finds the parts that a CIDR overlaps", () => {
    const ten = pool("10.244.0.0/16", 24);
    assert.deepEqual(partsWithin(ten, "10.244.3.0/24"), [3, 3]);
    assert.deepEqual(partsWithin(ten, "10.244.4.0/22"), [4, 7]);
    assert.deepEqual(partsWithin(ten, "10.244.9.128/25"), [9, 9]);
    assert.deepEqual(partsWithin(ten, "10.0.0.0/8"), [0, 255]);
    assert.equal(partsWithin(ten, "10.245.0.0/24"), undefined);
    assert.equal(partsWithin(ten, "fd00::/64"), undefined);
  });
});

const rangesOf = (cluster: Cluster): readonly (readonly string[] | undefined)[] =>
  cluster.list(nodeKind).map(({ spec }) => spec.podCIDRs);

describe("node ipam", () => {
  test("every node gets a range of each family", async () => {
    const pools = [pool("10.244.0.0/16", 24), pool("fd00::/48", 64)];
    await using cluster = await startCluster({ controllers: [nodeIpam({ pools, reserved: [] })] });
    for (const name of ["a", "b"]) await cluster.seed(nodeKind, { metadata: { name } });
    assert.deepEqual(rangesOf(cluster), [
      ["10.244.0.0/24", "fd00::/64"],
      ["10.244.1.0/24", "fd00:0:0:1::/64"],
    ]);
    assert.equal(cluster.get(nodeKind, "a")?.spec.podCIDR, "10.244.0.0/24");
  });

  test("what is taken is never given, nor what is Services'", async () => {
    const options = { pools: [pool("10.0.0.0/21", 24)], reserved: ["10.0.0.0/23"] };
    await using cluster = await startCluster({ controllers: [nodeIpam(options)] });
    await cluster.seed(nodeKind, {
      metadata: { name: "old" },
      spec: { podCIDR: "10.0.2.0/23", podCIDRs: ["10.0.2.0/23"] },
    });
    await cluster.seed(nodeKind, { metadata: { name: "young" } });
    assert.deepEqual(cluster.get(nodeKind, "young")?.spec.podCIDRs, ["10.0.4.0/24"]);
  });

  test("ranges come in turn; when there is none left, an event says so until there is", async () => {
    const options = { pools: [pool("10.0.0.0/23", 24)], reserved: [] };
    await using cluster = await startCluster({ controllers: [nodeIpam(options)] });
    await cluster.seed(nodeKind, { metadata: { name: "a" } });
    await cluster.client.delete(nodeKind, { name: "a" });
    for (const name of ["b", "c", "d"]) await cluster.seed(nodeKind, { metadata: { name } });
    assert.deepEqual(rangesOf(cluster), [["10.0.1.0/24"], ["10.0.0.0/24"], undefined]);
    assert.deepEqual(
      cluster.events.map(({ name, reason, message }) => [name, reason, message]),
      [["d", "CIDRNotAvailable", "Node d status is now: CIDRNotAvailable"]],
    );
    await cluster.client.delete(nodeKind, { name: "b" });
    await cluster.settle();
    assert.deepEqual(cluster.get(nodeKind, "d")?.spec.podCIDRs, ["10.0.1.0/24"]);
  });
});
