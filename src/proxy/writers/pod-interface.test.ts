import assert from "node:assert/strict";
import { test } from "vitest";
import { type DetectLocalMode, decideBaseRules, nodeFactsOf } from "../rules/decide-base-rules.ts";
import { markRules } from "./iptables/render-base.ts";
import { fromPods } from "./nftables/render-base.ts";

const rows: readonly {
  readonly mode: DetectLocalMode;
  readonly nft: string;
  readonly iptables: string;
}[] = [
  { mode: "ClusterCIDR", nft: "ip saddr != { 10.244.0.0/16 }", iptables: "-s 10.244.0.0/16" },
  { mode: "BridgeInterface", nft: 'iifname != "cni0"', iptables: "-i cni0" },
  { mode: "InterfaceNamePrefix", nft: 'iifname != "cni0*"', iptables: "-i cni0+" },
];

for (const { mode, nft, iptables } of rows) {
  test(`detectLocalMode ${mode}: traffic of pods is not masqueraded on its way to a cluster IP`, () => {
    const base = decideBaseRules("IPv4", {
      ...{ clusterCidrs: ["10.244.0.0/16"], detectLocalMode: mode, podInterface: "cni0" },
      ...{ nodePortAddresses: [], interfaceAddresses: [], serviceCidrs: [] },
      ...{
        localhostNodePorts: false,
        masqueradeAll: false,
        masqueradeBit: 14,
        node: nodeFactsOf(undefined, "n1"),
      },
    });
    assert.equal(fromPods(base, true), nft);
    assert.ok(
      markRules(base).includes(`-A KUBE-MARK-OUTSIDE ${iptables} -j RETURN`),
      String(markRules(base)),
    );
  });
}
