/**
 * Flags of upstream's controller manager that have nothing to act on here. They are taken, so that
 * its manifests run as they are; which of them were given is told.
 */
import type { Command as Parser } from "commander";

const NOTHING_TO_ACT_ON: readonly string[] = [
  ...["allow-metric-labels", "allow-metric-labels-manifest", "disabled-metrics"],
  ...["show-hidden-metrics-for-version", "contention-profiling", "profiling"],
  ...["attach-detach-reconcile-sync-period", "disable-attach-detach-reconcile-sync"],
  ...["authentication-kubeconfig", "authentication-skip-lookup"],
  ...["authentication-token-webhook-cache-ttl", "authentication-tolerate-lookup-failure"],
  ...["authorization-always-allow-paths", "authorization-kubeconfig"],
  ...["authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"],
  ...["cert-dir", "client-ca-file", "disable-http2-serving"],
  ...["http2-max-streams-per-connection", "permit-address-sharing", "permit-port-sharing"],
  ...["requestheader-allowed-names", "requestheader-client-ca-file"],
  ...["requestheader-extra-headers-prefix", "requestheader-group-headers"],
  ...["requestheader-uid-headers", "requestheader-username-headers"],
  ...["tls-cipher-suites", "tls-curve-preferences", "tls-min-version"],
  ...["tls-sni-cert-key"],
  ...["cidr-allocator-type", "cloud-config", "cloud-provider", "cluster-name"],
  ...["configure-cloud-routes", "external-cloud-volume-plugin", "route-reconciliation-period"],
  ...["concurrent-service-syncs", "controller-shutdown-timeout", "controller-start-interval"],
  ...["emulated-version", "feature-gates", "min-compatibility-version"],
  ...["enable-leader-migration", "leader-migration-config", "leader-elect-resource-lock"],
  ...["endpoint-updates-batch-period", "endpointslice-updates-batch-period"],
  ...["mirroring-endpointslice-updates-batch-period", "min-resync-period"],
  ...["horizontal-pod-autoscaler-cpu-initialization-period"],
  ...["horizontal-pod-autoscaler-initial-readiness-delay", "disable-force-detach-on-timeout"],
  ...["concurrent-device-taint-eviction-syncs", "concurrent-gc-syncs", "max-endpoints-per-slice"],
  ...["mirroring-concurrent-service-endpoint-syncs", "mirroring-max-endpoints-per-subset"],
  ...["kube-api-burst", "kube-api-content-type", "kube-api-qps"],
  ...["namespace-sync-period", "pvclaimbinder-sync-period", "resource-quota-sync-period"],
  ...["enable-dynamic-provisioning", "enable-hostpath-provisioner", "flex-volume-plugin-dir"],
  ...["pv-recycler-increment-timeout-nfs", "pv-recycler-minimum-timeout-hostpath"],
  ...["pv-recycler-minimum-timeout-nfs", "pv-recycler-pod-template-filepath-hostpath"],
  ...["pv-recycler-pod-template-filepath-nfs", "pv-recycler-timeout-increment-hostpath"],
  ...["log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream"],
  ...["log-text-info-buffer-size", "log-text-split-stream", "logging-format", "vmodule"],
];

export function addUpstreamFlags(parser: Parser): Parser {
  for (const name of NOTHING_TO_ACT_ON) {
    parser.addOption(parser.createOption(`--${name} [value]`).hideHelp());
  }
  parser.addOption(parser.createOption("-v, --v [level]").hideHelp());
  return parser;
}

/** Those of them that were given. */
export function flagsWithoutEffect(parser: Parser): readonly string[] {
  return NOTHING_TO_ACT_ON.filter(
    (name) => parser.getOptionValueSource(camelCase(name)) === "cli",
  ).map((name) => `--${name}`);
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
