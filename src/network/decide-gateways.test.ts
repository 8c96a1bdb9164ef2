import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { build } from "#testing/build.ts";
import { decideGateways } from "./decide-gateways.ts";

const node = (name: string, ...addresses: string[]) =>
  build(nodeKind, {
    metadata: { name },
    status: {
      addresses: [
        { type: "Hostname", address: name },
        ...addresses.map((address) => ({ type: "InternalIP", address })),
      ],
    },
  });

const NODES = [node("b", "10.0.0.2", "fd00::2"), node("a", "10.0.0.1", "fd00::1"), node("c")];

const READY = { ready: true };
const GONE = { ready: false, serving: false, terminating: true };
const DRAINING = { ready: false, serving: true, terminating: true };

interface Row {
  readonly name: string;
  readonly policy: string;
  readonly address?: string;
  readonly endpoints?: Readonly<Record<string, typeof GONE | typeof READY>>;
  readonly want: readonly string[];
}

const rows: readonly Row[] = [
  { name: "Cluster: all nodes of the family", policy: "Cluster", want: ["10.0.0.1", "10.0.0.2"] },
  {
    ...{ name: "Cluster, IPv6", policy: "Cluster", address: "fd00:10:245::1" },
    want: ["fd00::1", "fd00::2"],
  },
  {
    ...{ name: "Local: nodes with ready endpoints", policy: "Local" },
    ...{ endpoints: { a: GONE, b: READY, c: READY }, want: ["10.0.0.2"] },
  },
  {
    ...{ name: "Local: draining endpoints while none is ready", policy: "Local" },
    ...{ endpoints: { a: DRAINING, b: GONE }, want: ["10.0.0.1"] },
  },
  {
    ...{ name: "Local: draining endpoints do not count beside ready ones", policy: "Local" },
    ...{ endpoints: { a: DRAINING, b: READY }, want: ["10.0.0.2"] },
  },
  { name: "Local without endpoints: none", policy: "Local", want: [] },
];

describe("gateways of a load balancer's address", () => {
  for (const { name, policy, address = "10.245.0.1", endpoints = {}, want } of rows) {
    test(name, () => {
      const service = build(serviceKind, {
        metadata: { name: "web" },
        spec: { type: "LoadBalancer", externalTrafficPolicy: policy },
      });
      const slice: EndpointSlice = build(endpointSliceKind, {
        metadata: { name: "web-1" },
        addressType: "IPv4",
        endpoints: Object.entries(endpoints).map(([nodeName, conditions]) => ({
          ...{ addresses: ["10.244.0.9"], nodeName, conditions },
        })),
      });
      assert.deepEqual(decideGateways(address, service, NODES, [slice]), want);
    });
  }
});

test("gateways of a load balancer's address: with session affinity one node, which stays while it may answer", () => {
  const service = build(serviceKind, {
    metadata: { name: "web" },
    spec: { type: "LoadBalancer", externalTrafficPolicy: "Cluster", sessionAffinity: "ClientIP" },
  });
  const gateways = (address: string, nodes: typeof NODES) =>
    decideGateways(address, service, nodes, []);
  const addresses = Array.from({ length: 20 }, (_, i) => `10.245.0.${i + 1}`);
  const chosen = new Set(addresses.flatMap((address) => gateways(address, NODES)));
  assert.deepEqual([...chosen].sort(), ["10.0.0.1", "10.0.0.2"]);
  for (const address of addresses) {
    const [gateway, ...others] = gateways(address, NODES);
    assert.deepEqual(others, []);
    const left = NODES.filter(({ status }) => status?.addresses?.[1]?.address === gateway);
    assert.deepEqual(gateways(address, left), [gateway]);
    assert.deepEqual(gateways(address, [...NODES].reverse()), [gateway]);
  }
});
