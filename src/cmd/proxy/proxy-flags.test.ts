import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { FlagError, parseArguments } from "../flags/parse-flags.ts";
import { proxyConfigOf, proxyFlags } from "./proxy-flags.ts";

function configOf(...args: string[]) {
  const parser = proxyFlags();
  parseArguments(parser, args);
  return proxyConfigOf(parser.opts());
}

describe("k8ts proxy: mistakes in flags are named as upstream's kube-proxy names them", () => {
  const at = "KubeProxyConfiguration";
  test.each([
    {
      args: ["--proxy-mode=ebpf"],
      says: `${at}.Mode.ProxyMode: Invalid value: "ebpf": must be iptables, nftables, userspace or blank (blank means the best-available proxy [currently nftables])`,
    },
    {
      args: ["--nodeport-addresses=10.0.0.0/8", "--nodeport-addresses=here"],
      says: `${at}.NodePortAddresses[1]: Invalid value: "here": must be a valid CIDR`,
    },
    {
      args: ["--nodeport-addresses=primary", "--nodeport-addresses=10.0.0.0/8"],
      says: `${at}.NodePortAddresses[0]: Invalid value: "primary": can't use both 'primary' and CIDRs`,
    },
    {
      args: ["--healthz-bind-address=10256"],
      says: `${at}.HealthzBindAddress: Invalid value: "10256": must be IP:port`,
    },
    {
      args: ["--metrics-bind-address=localhost:10249"],
      says: `${at}.MetricsBindAddress: Invalid value: "localhost": must be a valid IP`,
    },
    {
      args: ["--iptables-masquerade-bit=32"],
      says: `${at}.KubeProxyIPTablesConfiguration.MasqueradeBit: Invalid value: 32: must be within the range [0, 31]`,
    },
    {
      args: ["--detect-local-mode=Guess"],
      says: `${at}.DetectLocalMode: Unsupported value: "Guess": supported values: "BridgeInterface", "ClusterCIDR", "InterfaceNamePrefix", "NodeCIDR"`,
    },
    {
      args: ["--detect-local-mode=BridgeInterface"],
      says: `${at}.DetectLocalConfiguration.InterfaceName: Invalid value: "": must not be empty`,
    },
    {
      args: ["--iptables-sync-period=0s"],
      says: `${at}.SyncPeriod: Invalid value: "0ms": must be greater than 0`,
    },
  ])("$args", ({ args, says }) => {
    assert.throws(() => configOf(...args), new FlagError(says));
  });
});

test("k8ts proxy: a KubeProxyConfiguration with an unknown field is refused, a good one is used", () => {
  const dir = mkdtempSync(join(tmpdir(), "k8ts-proxy-"));
  const path = join(dir, "config.yaml");
  const head = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";
  try {
    writeFileSync(path, `${head}mode: userspace\nclusterCIDR: 10.1.0.0/16\n`);
    const { mode, proxy, networkPolicy } = configOf("--config", path, "--no-network-policy");
    assert.deepEqual(
      [mode, proxy.clusterCidrs, networkPolicy],
      ["userspace", ["10.1.0.0/16"], false],
    );
    writeFileSync(path, `${head}proxyMode: iptables\n`);
    const says = '--config: strict decoding error: unknown field "proxyMode"';
    assert.throws(() => configOf("--config", path), new FlagError(says));
  } finally {
    rmSync(dir, { recursive: true });
  }
});
