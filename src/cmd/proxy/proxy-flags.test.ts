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
      args: ["--bind-address=here"],
      says: `${at}.BindAddress: Invalid value: "here": must be a valid IP address, (e.g. 10.9.8.7)`,
    },
    {
      args: ["--oom-score-adj=-1001"],
      says: `${at}.KubeProxyLinuxConfiguration.OOMScoreAdj: Invalid value: -1001: must be within the range [-1000, 1000]`,
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

test("k8ts proxy: flags of a manifest of kube-proxy are accepted; those without effect are named", () => {
  const { conntrack, oomScoreAdj, proxy, withoutEffect } = configOf(
    ...["--conntrack-max-per-core=0", "--conntrack-min=131072", "--oom-score-adj=-998"],
    ...["--conntrack-tcp-timeout-established=24h0m0s", "--iptables-localhost-nodeports=false"],
    ...["--bind-address=10.0.0.7", "--kube-api-qps=5", "--feature-gates=A=true"],
  );
  assert.deepEqual(conntrack, { maxPerCore: 0, min: 131_072, tcpEstablishedTimeoutMs: 86_400_000 });
  assert.equal(oomScoreAdj, -998);
  assert.deepEqual([proxy.localhostNodePorts, proxy.nodeIp], [false, "10.0.0.7"]);
  assert.deepEqual(withoutEffect, ["--feature-gates", "--kube-api-qps"]);
});

test("k8ts proxy: the KubeProxyConfiguration that kubeadm writes is read whole", () => {
  const dir = mkdtempSync(join(tmpdir(), "k8ts-proxy-"));
  const path = join(dir, "config.conf");
  try {
    writeFileSync(path, KUBEADM_CONFIG);
    const { conntrack, oomScoreAdj, mode, proxy, kubeconfig } = configOf("--config", path);
    assert.deepEqual([mode, oomScoreAdj], [undefined, undefined]);
    assert.equal(kubeconfig, "/var/lib/kube-proxy/kubeconfig.conf");
    assert.deepEqual(proxy.clusterCidrs, ["10.244.0.0/16"]);
    assert.deepEqual(conntrack, { tcpBeLiberal: false, tcpEstablishedTimeoutMs: 7_200_000 });
  } finally {
    rmSync(dir, { recursive: true });
  }
});

const KUBEADM_CONFIG = `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
bindAddress: 0.0.0.0
bindAddressHardFail: false
clientConnection:
  acceptContentTypes: ""
  burst: 0
  contentType: ""
  kubeconfig: /var/lib/kube-proxy/kubeconfig.conf
  qps: 0
clusterCIDR: 10.244.0.0/16
configSyncPeriod: 0s
conntrack:
  maxPerCore: null
  min: null
  tcpBeLiberal: false
  tcpCloseWaitTimeout: null
  tcpEstablishedTimeout: 2h0m0s
detectLocal:
  bridgeInterface: ""
  interfaceNamePrefix: ""
detectLocalMode: ""
enableProfiling: false
healthzBindAddress: ""
hostnameOverride: ""
iptables:
  localhostNodePorts: null
  masqueradeAll: false
  masqueradeBit: null
  minSyncPeriod: 0s
  syncPeriod: 0s
ipvs:
  excludeCIDRs: null
  minSyncPeriod: 0s
  scheduler: ""
  strictARP: false
  syncPeriod: 0s
kind: KubeProxyConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
  verbosity: 0
metricsBindAddress: ""
mode: ""
nodePortAddresses: null
oomScoreAdj: null
portRange: ""
showHiddenMetricsForVersion: ""
winkernel:
  enableDSR: false
`;
