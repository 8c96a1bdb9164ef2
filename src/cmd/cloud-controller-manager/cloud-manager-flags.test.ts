/** Flags of the cloud controller manager: all of upstream's are known; those without effect are reported. */
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { parseArguments } from "../flags/parse-flags.ts";
import {
  type CloudManagerConfig,
  cloudManagerConfigOf,
  cloudManagerFlags,
} from "./cloud-manager-flags.ts";

/** Of cloud-controller-manager 1.36, without those of its generic server. */
const UPSTREAM = `
allocate-node-cidrs allow-untagged-cloud bind-address cidr-allocator-type client-ca-file cloud-config
cloud-provider cluster-cidr cluster-name concurrent-node-status-updates concurrent-node-syncs
concurrent-service-syncs configure-cloud-routes contention-profiling controller-start-interval controllers
enable-leader-migration external-cloud-volume-plugin feature-gates kube-api-burst
kube-api-content-type kube-api-qps kubeconfig leader-elect leader-elect-lease-duration
leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
leader-elect-resource-namespace leader-elect-retry-period leader-migration-config logging-format
master min-resync-period node-monitor-period node-status-update-frequency node-sync-period profiling
route-reconciliation-period secure-port tls-cert-file tls-private-key-file
use-service-account-credentials v version webhook-bind-address webhook-cert-dir webhook-secure-port
webhook-tls-cert-file webhook-tls-private-key-file webhook-tls-sni-cert-key webhooks
node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 service-cluster-ip-range
`
  .trim()
  .split(/\s+/);

function configOf(...args: string[]): CloudManagerConfig {
  const file = join(mkdtempSync(join(tmpdir(), "cloud-flags-")), "kubeconfig");
  const cluster = { name: "c", cluster: { server: "https://127.0.0.1:1" } };
  const context = { name: "c", context: { cluster: "c", user: "c" } };
  const users = [{ name: "c", user: { token: "t" } }];
  writeFileSync(
    file,
    JSON.stringify({ "current-context": "c", clusters: [cluster], contexts: [context], users }),
  );
  const all = ["--cloud-provider", "simulated", "--kubeconfig", file, ...args];
  return cloudManagerConfigOf(parseArguments(cloudManagerFlags(), all).opts(), systemClock);
}

test("cloud-controller-manager: every flag of upstream is known", () => {
  const known = new Set(cloudManagerFlags().options.map(({ long }) => long?.replace(/^--/, "")));
  assert.deepEqual(
    UPSTREAM.filter((flag) => !known.has(flag)),
    [],
  );
});

test("cloud-controller-manager: flags without effect are reported, values that cannot be kept refused", () => {
  const { withoutEffect } = configOf("--profiling=false", "--leader-elect-resource-lock=leases");
  assert.deepEqual(withoutEffect, ["--profiling"]);
  assert.throws(() => configOf("--leader-elect-resource-lock=endpoints"), {
    message: '--leader-elect-resource-lock: "endpoints" is not supported',
  });
});

test("cloud-controller-manager --controllers: names, aliases, `*` and `-name`", () => {
  const { isEnabled } = configOf("--controllers=*,-service");
  assert.equal(isEnabled("service-lb-controller"), false);
  assert.equal(isEnabled("cloud-node-controller"), true);
  const only = configOf("--controllers=route");
  assert.equal(only.isEnabled("node-route-controller"), true);
  assert.equal(only.isEnabled("cloud-node-controller"), false);
  assert.throws(() => configOf("--controllers=nodes"), {
    message: '"nodes" is not in the list of known controllers',
  });
});

test("cloud-controller-manager: routes only with --allocate-node-cidrs and one range of each family", () => {
  assert.deepEqual(configOf("--cluster-cidr=10.0.0.0/8").options.clusterCidrs, []);
  const both = "--cluster-cidr=10.0.0.0/8,fd00::/64";
  assert.deepEqual(configOf("--allocate-node-cidrs", both).options.clusterCidrs, [
    "10.0.0.0/8",
    "fd00::/64",
  ]);
  const off = configOf("--allocate-node-cidrs", both, "--configure-cloud-routes=false");
  assert.deepEqual(off.options.clusterCidrs, []);
  assert.throws(() => configOf("--allocate-node-cidrs", "--cluster-cidr=10.0.0.0/8,10.1.0.0/16"), {
    message: "--cluster-cidr: must be one range, or one of each IP family",
  });
});

test("cloud-controller-manager: workers of nodes are the larger of syncs and status updates", () => {
  const workers = (...args: string[]): number => configOf(...args).options.nodeWorkers;
  assert.equal(workers(), 1);
  assert.equal(workers("--concurrent-node-syncs=3"), 3);
  assert.equal(workers("--concurrent-node-syncs=3", "--concurrent-node-status-updates=5"), 5);
  assert.throws(() => workers("--concurrent-node-syncs=0"), {
    message: "concurrent-node-syncs must be a positive number",
  });
  assert.throws(() => workers("--concurrent-node-status-updates=-1"), {
    message: "concurrent-node-status-updates cannot be a negative number",
  });
});
