import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { nodeAddress, nodeIndex } from "./node-address.ts";
import { PodAddresses } from "./pod-addresses.ts";

const node = (podCIDR?: string) =>
  build(nodeKind, { metadata: { name: "sim-0" }, spec: podCIDR === undefined ? {} : { podCIDR } });
const pod = (uid: string, podIP?: string): Pod =>
  build(podKind, {
    metadata: { name: uid, uid },
    status: podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] },
  });

test("simulated pods: addresses come from the node's podCIDR and are given out again late", () => {
  const addresses = new PodAddresses();
  const [first] = addresses.of(pod("a"), node("10.244.7.0/29"), 0);
  assert.equal(first, "10.244.7.1");
  assert.deepEqual(
    addresses.of(pod("a"), node("10.244.7.0/29"), 0),
    [first],
    "a pod keeps its own",
  );
  addresses.release("a");
  const next = ["b", "c", "d", "e", "f", "g"].map(
    (uid) => addresses.of(pod(uid), node("10.244.7.0/29"), 0)[0],
  );
  assert.deepEqual(
    next,
    [2, 3, 4, 5, 6, 1].map((n) => `10.244.7.${n}`),
  );
  assert.deepEqual(addresses.of(pod("h"), node("10.244.7.0/29"), 0), [], "none is left");
});

test("simulated pods: an address from before a restart is not given to another pod", () => {
  const addresses = new PodAddresses();
  assert.deepEqual(addresses.of(pod("old", "10.244.0.1"), node("10.244.0.0/24"), 0), [
    "10.244.0.1",
  ]);
  assert.deepEqual(addresses.of(pod("new"), node("10.244.0.0/24"), 0), ["10.244.0.2"]);
});

test("simulated nodes: each has a loopback address that encodes its index", () => {
  for (const index of [0, 254, 255, 5_000, 15_999]) {
    assert.equal(nodeIndex(nodeAddress(index)), index);
  }
  assert.equal(nodeAddress(0), "127.1.0.1");
  assert.equal(nodeIndex("127.0.0.1"), undefined);
  assert.equal(nodeIndex("192.0.2.1"), undefined);
});
