import assert from "node:assert/strict";
import { test } from "vitest";
import { decidePodRoutes, peerOf } from "./decide-pod-routes.ts";
import { networkMarks } from "./network-marks.ts";
import { podMtu } from "./pod-network-mode.ts";
import { tunnelMac } from "./tunnel-mac.ts";

const NEAR = { name: "near", addresses: ["192.0.2.2"], podCidrs: ["10.244.1.0/24"] };
const FAR = {
  name: "far",
  addresses: ["198.51.100.3", "2001:db8::3"],
  podCidrs: ["10.244.2.0/24", "fd00:10:244:2::/64"],
};
const isOnLink = (address: string): boolean => address.startsWith("192.0.2.");
const ranges = { type: "unreachable", cidr: "10.244.0.0/16" } as const;
const tunnel = (cidr: string, via: string) =>
  ({ type: "tunnel", cidr, via, endpoint: "198.51.100.3", firstCidr: "10.244.2.0/24" }) as const;

const cases = [
  {
    name: "host-gw: nodes on the link get routes, others the tunnel",
    mode: "host-gw",
    want: [
      ranges,
      { type: "direct", cidr: "10.244.1.0/24", via: "192.0.2.2" },
      tunnel("10.244.2.0/24", "10.244.2.0"),
      tunnel("fd00:10:244:2::/64", "fd00:10:244:2::"),
    ],
  },
  {
    name: "vxlan: all nodes get the tunnel",
    mode: "vxlan",
    want: [
      ranges,
      {
        ...{ type: "tunnel", cidr: "10.244.1.0/24", via: "10.244.1.0" },
        ...{ endpoint: "192.0.2.2", firstCidr: "10.244.1.0/24" },
      },
      tunnel("10.244.2.0/24", "10.244.2.0"),
      tunnel("fd00:10:244:2::/64", "fd00:10:244:2::"),
    ],
  },
  { name: "none: no routes at all", mode: "none", want: [] },
] as const;

for (const { name, mode, want } of cases) {
  test(`pod routes, ${name}`, () => {
    const peers = [NEAR, FAR];
    const routes = decidePodRoutes({ mode, peers, ownRanges: ["10.244.0.0/16"], isOnLink });
    assert.deepEqual(routes, want);
  });
}

test("pod routes: a Node counts once it has an InternalIP and a podCIDR", () => {
  const metadata = { name: "n" };
  const addresses = [
    { type: "Hostname", address: "n" },
    { type: "InternalIP", address: "192.0.2.9" },
  ];
  assert.equal(peerOf({ metadata, spec: {}, status: { addresses } }), undefined);
  assert.equal(peerOf({ metadata, spec: { podCIDR: "10.244.9.0/24" } }), undefined);
  assert.deepEqual(
    peerOf({ metadata, spec: { podCIDR: "10.244.9.0/24" }, status: { addresses } }),
    {
      ...{ name: "n", addresses: ["192.0.2.9"], podCidrs: ["10.244.9.0/24"] },
    },
  );
});

test("pod network: the MTU leaves room for VXLAN", () => {
  assert.equal(podMtu("host-gw", 1500, false), 1500);
  assert.equal(podMtu("vxlan", 1500, false), 1450);
  assert.equal(podMtu("vxlan", 1500, true), 1430);
});

test("pod network: hardware addresses of tunnels are local unicast addresses and differ", () => {
  const macs = ["10.244.1.0/24", "10.244.2.0/24"].map(tunnelMac);
  assert.notEqual(macs[0], macs[1]);
  for (const mac of macs) assert.match(mac, /^[0-9a-f][26ae](:[0-9a-f]{2}){5}$/);
});

test("pod network: marks of two clusters differ, and device names fit the kernel's 15 characters", () => {
  const [a, b] = ["/data/a", "/data/b"].map(networkMarks);
  for (const field of [
    "nodeBridge",
    "podBridge",
    "vxlanDevice",
    "routeMetric",
    "balancerMetric",
    "chain",
  ] as const) {
    assert.notEqual(a![field], b![field]);
  }
  const names = [a!.nodeBridge, a!.podBridge, a!.vxlanDevice, a!.cableTo("a-long-name-of-a-node")];
  for (const name of names) assert.ok(name.length <= 15, name);
  assert.notEqual(a!.cableTo("x"), b!.cableTo("x"));
});
