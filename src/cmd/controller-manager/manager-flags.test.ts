/** Flags of the controller manager: all of upstream's are known; those without effect are reported. */
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { builtInControllers } from "#controllers/registry/controllers.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { flagsWithoutEffect, refuseOtherValues } from "../flags/accepted-flags.ts";
import { parseArguments } from "../flags/parse-flags.ts";
import { controllerOptionsOf } from "./controller-flags.ts";
import { managerFlags } from "./controller-manager.ts";
import { rateLimitFor, rateLimitOf, withPace } from "./pace-flags.ts";
import { UPSTREAM_FLAGS } from "./upstream-flags.ts";
import { withWorkers } from "./worker-flags.ts";

/** Of kube-controller-manager 1.36. */
const UPSTREAM = `
allocate-node-cidrs allow-metric-labels allow-metric-labels-manifest
attach-detach-reconcile-sync-period authentication-kubeconfig authentication-skip-lookup
authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure
authorization-always-allow-paths authorization-kubeconfig
authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
bind-address cert-dir cidr-allocator-type client-ca-file cloud-config cloud-provider
cluster-cidr cluster-name cluster-signing-cert-file cluster-signing-duration
cluster-signing-key-file cluster-signing-kube-apiserver-client-cert-file
cluster-signing-kube-apiserver-client-key-file cluster-signing-kubelet-client-cert-file
cluster-signing-kubelet-client-key-file cluster-signing-kubelet-serving-cert-file
cluster-signing-kubelet-serving-key-file cluster-signing-legacy-unknown-cert-file
cluster-signing-legacy-unknown-key-file concurrent-cron-job-syncs concurrent-daemonset-syncs
concurrent-deployment-syncs concurrent-device-taint-eviction-syncs concurrent-endpoint-syncs
concurrent-ephemeralvolume-syncs concurrent-gc-syncs concurrent-horizontal-pod-autoscaler-syncs
concurrent-job-syncs concurrent-namespace-syncs concurrent-rc-syncs concurrent-replicaset-syncs
concurrent-resource-quota-syncs concurrent-resourceclaim-syncs concurrent-service-endpoint-syncs
concurrent-service-syncs concurrent-serviceaccount-token-syncs concurrent-statefulset-syncs
concurrent-ttl-after-finished-syncs concurrent-validating-admission-policy-status-syncs
configure-cloud-routes contention-profiling controller-shutdown-timeout
controller-start-interval controllers disable-attach-detach-reconcile-sync
disable-force-detach-on-timeout disable-http2-serving disabled-metrics emulated-version
enable-dynamic-provisioning enable-garbage-collector enable-hostpath-provisioner
enable-leader-migration endpoint-updates-batch-period endpointslice-updates-batch-period
external-cloud-volume-plugin feature-gates flex-volume-plugin-dir help
horizontal-pod-autoscaler-cpu-initialization-period
horizontal-pod-autoscaler-downscale-stabilization
horizontal-pod-autoscaler-initial-readiness-delay horizontal-pod-autoscaler-sync-period
horizontal-pod-autoscaler-tolerance http2-max-streams-per-connection kube-api-burst
kube-api-content-type kube-api-qps kubeconfig large-cluster-size-threshold leader-elect
leader-elect-lease-duration leader-elect-renew-deadline leader-elect-resource-lock
leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period
leader-migration-config legacy-service-account-token-clean-up-period log-flush-frequency
log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream
logging-format master max-endpoints-per-slice min-compatibility-version min-resync-period
mirroring-concurrent-service-endpoint-syncs mirroring-endpointslice-updates-batch-period
mirroring-max-endpoints-per-subset namespace-sync-period node-cidr-mask-size
node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-eviction-rate node-monitor-grace-period
node-monitor-period node-startup-grace-period permit-address-sharing permit-port-sharing
profiling pv-recycler-increment-timeout-nfs pv-recycler-minimum-timeout-hostpath
pv-recycler-minimum-timeout-nfs pv-recycler-pod-template-filepath-hostpath
pv-recycler-pod-template-filepath-nfs pv-recycler-timeout-increment-hostpath
pvclaimbinder-sync-period requestheader-allowed-names requestheader-client-ca-file
requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
requestheader-username-headers resource-quota-sync-period root-ca-file
route-reconciliation-period secondary-node-eviction-rate secure-port
service-account-private-key-file service-cluster-ip-range show-hidden-metrics-for-version
terminated-pod-gc-threshold tls-cert-file tls-cipher-suites tls-curve-preferences
tls-min-version tls-private-key-file tls-sni-cert-key unhealthy-zone-threshold
use-service-account-credentials v version vmodule
`
  .trim()
  .split(/\s+/);

const flagsOf = (...args: readonly string[]) => parseArguments(managerFlags(), args).opts();

test("kube-controller-manager: every flag of upstream is known", () => {
  const known = new Set(managerFlags().options.map(({ long }) => long?.replace(/^--/, "")));
  assert.deepEqual(
    UPSTREAM.filter((flag) => !known.has(flag)),
    ["help"], // commander's own
  );
});

test("kube-controller-manager: flags without effect are reported", () => {
  const parser = parseArguments(managerFlags(), ["--cluster-name=c", "--profiling=false"]);
  assert.deepEqual(flagsWithoutEffect(UPSTREAM_FLAGS, parser.opts()), [
    "--profiling",
    "--cluster-name",
  ]);
});

describe("kube-controller-manager: what cannot be had is refused", () => {
  const rows = [
    ["--leader-elect-resource-lock", "endpoints"],
    ["--cloud-provider", "aws"],
    ["--cidr-allocator-type", "CloudAllocator"],
    ["--emulated-version", "1.33"],
  ] as const;
  for (const [flag, value] of rows) {
    test(`${flag} ${value}`, () => {
      assert.throws(() => refuseOtherValues(UPSTREAM_FLAGS, flagsOf(flag, value)), {
        message: `${flag}: "${value}" is not supported`,
      });
    });
  }
  test("what upstream's manifests say is taken", () => {
    const args = ["--leader-elect-resource-lock=leases", "--cloud-provider=external"];
    const flags = flagsOf(...args, "--emulated-version=kube=1.36");
    assert.doesNotThrow(() => refuseOtherValues(UPSTREAM_FLAGS, flags));
  });
});

describe("kube-controller-manager: requests a second", () => {
  const rows = [
    { args: [], want: undefined },
    { args: ["--kube-api-qps", "50"], want: { perSecond: 50, burst: 30 } },
    { args: ["--kube-api-burst", "7"], want: { perSecond: 20, burst: 7 } },
    { args: ["--kube-api-qps", "0"], want: { perSecond: 5, burst: 30 } },
    { args: ["--kube-api-qps", "-1", "--kube-api-burst", "7"], want: undefined },
  ];
  for (const { args, want } of rows) {
    test(args.join(" ") || "not said", () => assert.deepEqual(rateLimitOf(flagsOf(...args)), want));
  }
  test("a burst of nothing is refused", () => {
    assert.throws(() => rateLimitOf(flagsOf("--kube-api-burst", "0")), /must be a whole number/);
  });
  test("who deletes much gets more", () => {
    const limit = { perSecond: 20, burst: 30 };
    assert.deepEqual(
      ["namespace-controller", "garbage-collector-controller", "job-controller"].map((name) =>
        rateLimitFor(name, limit),
      ),
      [{ perSecond: 400, burst: 3_000 }, { perSecond: 40, burst: 30 }, limit],
    );
  });
});

test("kube-controller-manager: how many at once, how often, how long to gather", () => {
  const flags = flagsOf(
    ...["--concurrent-job-syncs", "7", "--mirroring-concurrent-service-endpoint-syncs=3"],
    ...["--min-resync-period", "1h", "--namespace-sync-period", "10m"],
    ...["--endpointslice-updates-batch-period", "500ms"],
  );
  const all = builtInControllers(controllerOptionsOf(flags, systemClock));
  const controllers = withPace(withWorkers(all, flags), flags, seededRandom(1));
  const named = (name: string) => controllers.find((one) => one.name === name);
  assert.equal(named("job-controller")?.workers, 7);
  assert.equal(named("endpointslice-mirroring-controller")?.workers, 3);
  assert.equal(named("namespace-controller")?.resyncMs, 600_000);
  const resyncMs = named("job-controller")?.resyncMs ?? 0;
  assert.ok(resyncMs >= 3_600_000 && resyncMs < 7_200_000);
  const delays = named("endpointslice-controller")?.feeds.map(
    ({ kind, delayMs }) => `${kind.names.kind} ${delayMs ?? 0}`,
  );
  assert.deepEqual(delays, ["Service 0", "Pod 500", "Node 0", "EndpointSlice 0"]);
});

test("limits of slices reach their controllers", () => {
  const options = controllerOptionsOf(
    flagsOf("--max-endpoints-per-slice", "3", "--mirroring-max-endpoints-per-subset", "5"),
    systemClock,
  );
  assert.deepEqual([options.endpointsPerSliceMax, options.mirroredAddressesMax], [3, 5]);
  const refused = flagsOf("--max-endpoints-per-slice", "1001");
  assert.throws(() => controllerOptionsOf(refused, systemClock), /from 1 to 1000/);
});

describe("pods that recycle volumes", () => {
  const recyclersOf = (...args: string[]) =>
    controllerOptionsOf(flagsOf(...args), systemClock).recyclers;
  const file = (text: string): string => {
    const path = join(mkdtempSync(join(tmpdir(), "k8ts-recycler-")), "pod.yaml");
    writeFileSync(path, text);
    return path;
  };

  test("have the time that flags say", () => {
    const times = ["--pv-recycler-minimum-timeout-nfs=1", "--pv-recycler-increment-timeout-nfs=2"];
    const more = "--pv-recycler-minimum-timeout-hostpath=3";
    const given = recyclersOf(...times, more, "--pv-recycler-timeout-increment-hostpath=4");
    assert.deepEqual(
      [given?.nfs, given?.hostPath].map((of) => [of?.secondsMin, of?.secondsPerGib]),
      [
        [1, 2],
        [3, 4],
      ],
    );
  });

  test("come from files", () => {
    const path = file(
      "apiVersion: v1\nkind: Pod\nmetadata: {namespace: upkeep}\nspec: {volumes: [{name: d}]}\n",
    );
    const given = recyclersOf("--pv-recycler-pod-template-filepath-hostpath", path);
    assert.equal(given?.hostPath.template.metadata.namespace, "upkeep");
    assert.deepEqual(given?.hostPath.template.spec.volumes, [{ name: "d" }]);
    assert.equal(given?.nfs.template.metadata.namespace, "default");
  });

  test("need a volume", () => {
    const path = file("apiVersion: v1\nkind: Pod\nspec: {}\n");
    assert.throws(
      () => recyclersOf("--pv-recycler-pod-template-filepath-nfs", path),
      /does not contain any volume/,
    );
    assert.throws(() => recyclersOf("--pv-recycler-pod-template-filepath-nfs", "/none"), /ENOENT/);
  });
});
