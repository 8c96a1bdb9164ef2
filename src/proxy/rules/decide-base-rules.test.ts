import assert from "node:assert/strict";
import { test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import type { IpFamily } from "#api/meta/ip-family.ts";
import { build } from "#testing/build.ts";
import { decideBaseRules, nodeFactsOf } from "./decide-base-rules.ts";

const NODE = build(nodeKind, {
  metadata: { name: "n1" },
  status: {
    addresses: [
      { type: "InternalIP", address: "192.168.0.5" },
      { type: "InternalIP", address: "fd00::5" },
    ],
  },
});

const rows: readonly {
  readonly name: string;
  readonly family?: IpFamily;
  readonly setting: readonly string[];
  readonly localhost?: boolean;
  readonly addresses: readonly string[] | "all";
  readonly loopback: boolean;
}[] = [
  { name: "all addresses", setting: [], addresses: "all", loopback: true },
  { name: "0.0.0.0/0", setting: ["0.0.0.0/0"], addresses: "all", loopback: true },
  { name: "switched off", setting: [], localhost: false, addresses: "all", loopback: false },
  { name: "IPv6 cannot", family: "IPv6", setting: [], addresses: "all", loopback: false },
  {
    name: "a network without 127.0.0.1",
    setting: ["192.168.0.0/16"],
    ...{ addresses: ["192.168.0.5"], loopback: false },
  },
  {
    name: "a network with 127.0.0.1",
    setting: ["192.168.0.0/16", "127.0.0.0/8"],
    ...{ addresses: ["127.0.0.1", "192.168.0.5"], loopback: true },
  },
  { name: "primary", setting: ["primary"], addresses: ["192.168.0.5"], loopback: false },
];

for (const { name, family = "IPv4", setting, localhost = true, addresses, loopback } of rows) {
  test(`nodePortAddresses and localhostNodePorts: ${name}`, () => {
    const base = decideBaseRules(family, {
      ...{ clusterCidrs: [], detectLocalMode: "ClusterCIDR", nodePortAddresses: setting },
      interfaceAddresses: ["127.0.0.1", "192.168.0.5", "10.1.0.1", "::1", "fd00::5"],
      ...{ localhostNodePorts: localhost, masqueradeAll: false, masqueradeBit: 14 },
      ...{ serviceCidrs: [], node: nodeFactsOf(NODE, "n1") },
    });
    assert.deepEqual([base.nodePortAddresses, base.localhostNodePorts], [addresses, loopback]);
  });
}

test("--bind-address takes the place of the Node's address of its family", () => {
  assert.deepEqual(nodeFactsOf(NODE, "n1").nodeIps, ["192.168.0.5", "fd00::5"]);
  assert.deepEqual(nodeFactsOf(NODE, "n1", "10.1.0.1").nodeIps, ["10.1.0.1", "fd00::5"]);
});
