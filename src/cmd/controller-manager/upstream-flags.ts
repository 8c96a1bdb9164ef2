/**
 * Flags of upstream's controller manager that have no effect here. They are accepted, so that its
 * manifests run as they are; those that were given are reported.
 */
import type { Command as Parser } from "commander";
import { goQuote } from "#api/meta/go-quote.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { optionName } from "../flags/read-flags.ts";

const NOTHING_TO_ACT_ON: readonly string[] = [
  ...["allow-metric-labels", "allow-metric-labels-manifest", "disabled-metrics"],
  ...["show-hidden-metrics-for-version", "contention-profiling", "profiling"],
  ...["attach-detach-reconcile-sync-period", "disable-attach-detach-reconcile-sync"],
  ...["authentication-kubeconfig", "authentication-skip-lookup"],
  ...["authentication-token-webhook-cache-ttl", "authentication-tolerate-lookup-failure"],
  ...["authorization-always-allow-paths", "authorization-kubeconfig"],
  ...["authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"],
  ...["cert-dir", "disable-http2-serving"],
  ...["http2-max-streams-per-connection", "permit-address-sharing", "permit-port-sharing"],
  ...["requestheader-allowed-names", "requestheader-client-ca-file"],
  ...["requestheader-extra-headers-prefix", "requestheader-group-headers"],
  ...["requestheader-uid-headers", "requestheader-username-headers"],
  ...["tls-cipher-suites", "tls-curve-preferences", "tls-min-version"],
  ...["tls-sni-cert-key"],
  ...["cloud-config", "cluster-name"],
  ...["configure-cloud-routes", "external-cloud-volume-plugin", "route-reconciliation-period"],
  ...["concurrent-service-syncs", "controller-shutdown-timeout", "controller-start-interval"],
  ...["feature-gates", "min-compatibility-version"],
  ...["enable-leader-migration", "leader-migration-config"],
  ...["disable-force-detach-on-timeout"],
  ...["kube-api-content-type"],
  ...["enable-dynamic-provisioning", "enable-hostpath-provisioner", "flex-volume-plugin-dir"],
  ...["log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream"],
  ...["log-text-info-buffer-size", "log-text-split-stream", "vmodule"],
];

/** Flags of which only some values can be kept: what else they ask for is refused. */
const KEPT: Readonly<Record<string, RegExp>> = {
  "cidr-allocator-type": /^(RangeAllocator)?$/,
  "cloud-provider": /^(external)?$/,
  "emulated-version": /^((kube=)?1\.36)?$/,
  "leader-elect-resource-lock": /^leases$/,
};

export function addUpstreamFlags(parser: Parser): Parser {
  for (const name of NOTHING_TO_ACT_ON) {
    parser.addOption(parser.createOption(`--${name} [value]`).hideHelp());
  }
  for (const name of Object.keys(KEPT)) {
    parser.addOption(parser.createOption(`--${name} <value>`).hideHelp());
  }
  return parser;
}

export function refuseOtherValues(flags: Readonly<Record<string, unknown>>): void {
  for (const [name, values] of Object.entries(KEPT)) {
    const value = flags[optionName(name)];
    if (value === undefined || values.test(String(value))) continue;
    throw new FlagError(`--${name}: ${goQuote(String(value))} is not supported`);
  }
}

/** Those of them that were given. */
export function flagsWithoutEffect(parser: Parser): readonly string[] {
  return NOTHING_TO_ACT_ON.filter(
    (name) => parser.getOptionValueSource(optionName(name)) === "cli",
  ).map((name) => `--${name}`);
}
