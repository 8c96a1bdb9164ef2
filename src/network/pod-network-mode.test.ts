import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podMtu } from "./pod-network-mode.ts";

describe("MTU of the pod network", () => {
  const cases = [
    {
      name: "host-gw: the MTU of the link",
      mode: "host-gw",
      linkMtu: 1_500,
      isIpv6: false,
      want: 1_500,
    },
    {
      name: "vxlan over IPv4 takes 50 bytes",
      mode: "vxlan",
      linkMtu: 1_500,
      isIpv6: false,
      want: 1_450,
    },
    {
      name: "vxlan over IPv6 takes 70 bytes",
      mode: "vxlan",
      linkMtu: 1_500,
      isIpv6: true,
      want: 1_430,
    },
    {
      name: "loopback only: at most what a bridge takes",
      mode: "host-gw",
      linkMtu: 65_536,
      isIpv6: false,
      want: 65_535,
    },
  ] as const;
  for (const { name, mode, linkMtu, isIpv6, want } of cases)
    test(name, () => assert.equal(podMtu(mode, linkMtu, isIpv6), want));
});
