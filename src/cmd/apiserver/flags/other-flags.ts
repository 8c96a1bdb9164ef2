/**
 * Flags of upstream's API server that have no effect here, or only some of whose values are supported.
 * Flags without effect are accepted, so that its manifests run as they are, and reported; unsupported
 * values are refused.
 */
import type { Command as Parser } from "commander";
import { goQuote } from "#api/meta/go-quote.ts";
import { FlagError } from "../../flags/parse-flags.ts";
import { optionName } from "../../flags/read-flags.ts";

/** They tune or measure what is done in another way here. */
const WITHOUT_EFFECT: readonly string[] = [
  ...["allow-metric-labels", "allow-metric-labels-manifest", "disabled-metrics"],
  ...["show-hidden-metrics-for-version", "contention-profiling"],
  ...["audit-log-batch-buffer-size", "audit-log-batch-max-size", "audit-log-batch-max-wait"],
  ...["audit-log-batch-throttle-burst", "audit-log-batch-throttle-enable"],
  ...["audit-log-batch-throttle-qps", "audit-log-truncate-max-batch-size"],
  ...["audit-webhook-batch-throttle-burst", "audit-webhook-batch-throttle-enable"],
  ...["audit-webhook-batch-throttle-qps", "audit-webhook-truncate-max-batch-size"],
  ...["cert-dir", "debug-socket-path", "delete-collection-workers", "enable-logs-handler"],
  ...["aggregator-reject-forwarding-redirect", "enable-aggregator-routing"],
  ...["coordinated-leadership-lease-duration", "coordinated-leadership-renew-deadline"],
  ...["coordinated-leadership-retry-period", "peer-advertise-ip", "peer-advertise-port"],
  ...["peer-ca-file", "emulation-forward-compatible", "min-compatibility-version"],
  ...["runtime-config-emulation-forward-compatible", "feature-gates"],
  ...["etcd-count-metric-poll-period"],
  ...["etcd-db-metric-poll-interval", "etcd-healthcheck-timeout", "etcd-readycheck-timeout"],
  ...["lease-reuse-duration-seconds", "storage-initialization-timeout"],
  ...["livez-grace-period", "permit-address-sharing", "permit-port-sharing"],
  ...["shutdown-send-retry-after", "shutdown-watch-termination-grace-period"],
  ...["watch-cache-sizes"],
  ...["log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream"],
  ...["log-text-info-buffer-size", "log-text-split-stream", "vmodule"],
];

/** What is kept, and why nothing else can be. */
const KEPT: Readonly<Record<string, readonly [values: RegExp, why: string]>> = {
  "admission-control": [/^$/, "use --enable-admission-plugins"],
  "audit-log-version": [/^audit\.k8s\.io\/v1$/, "only audit.k8s.io/v1 is written"],
  "audit-webhook-version": [/^audit\.k8s\.io\/v1$/, "only audit.k8s.io/v1 is sent"],
  "emulated-version": [/^(kube=)?v?1\.36(\.\d+)?$/, "only 1.36 is spoken"],
  "enable-garbage-collector": [/^(true|1|t|T|TRUE|True)?$/, "owners are always minded"],
  "endpoint-reconciler-type": [/^(lease)?$/, "only lease is there"],
  "kubernetes-service-node-port": [/^0?$/, "the kubernetes Service has no node port"],
  "max-connection-bytes-per-sec": [/^0?$/, "connections are not slowed down"],
  "service-account-lookup": [/^(true|1|t|T|TRUE|True)?$/, "tokens end with what they are bound to"],
  "service-account-signing-endpoint": [/^$/, "use --service-account-signing-key-file"],
  "storage-backend": [/^(etcd3)?$/, "only etcd3 is spoken"],
  "watch-cache": [/^(true|1|t|T|TRUE|True)?$/, "reads are always served from it"],
};

export function addOtherFlags(parser: Parser): void {
  for (const name of [...WITHOUT_EFFECT, ...Object.keys(KEPT)]) {
    parser.addOption(parser.createOption(`--${name} [value]`).hideHelp());
  }
}

/** Throws FlagError for values that cannot be kept; answers the given flags that have no effect. */
export function checkOtherFlags(values: Readonly<Record<string, unknown>>): readonly string[] {
  const given = (name: string): unknown => values[optionName(name)];
  for (const [name, [kept, why]] of Object.entries(KEPT)) {
    const value = given(name);
    const text = value === true ? "" : String(value ?? "");
    if (value !== undefined && !kept.test(text)) {
      throw new FlagError(`--${name} cannot be ${goQuote(text)}: ${why}`);
    }
  }
  return WITHOUT_EFFECT.filter((name) => given(name) !== undefined).map((name) => `--${name}`);
}
