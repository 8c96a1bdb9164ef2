/**
 * Flags of an upstream component that its manifests use and that have nothing to act on here: they are
 * accepted and reported, or accepted with the values that can be kept and refused with others.
 */
import type { Command as Parser } from "commander";
import { goQuote } from "#api/meta/go-quote.ts";
import type { Logger } from "#lib/logger.ts";
import { FlagError } from "./parse-flags.ts";
import { type Flags, optionName } from "./read-flags.ts";

export interface AcceptedFlags {
  readonly withoutEffect: readonly string[];
  /** By name: the values that are what the program does. */
  readonly kept: Readonly<Record<string, RegExp>>;
}

export function addAcceptedFlags(parser: Parser, { withoutEffect, kept }: AcceptedFlags): Parser {
  for (const name of withoutEffect) {
    parser.addOption(parser.createOption(`--${name} [value]`).hideHelp());
  }
  for (const name of Object.keys(kept)) {
    parser.addOption(parser.createOption(`--${name} <value>`).hideHelp());
  }
  return parser;
}

/** Throws FlagError for a value that cannot be kept. */
export function refuseOtherValues({ kept }: AcceptedFlags, flags: Flags): void {
  for (const [name, values] of Object.entries(kept)) {
    const value = flags[optionName(name)];
    if (value === undefined || values.test(String(value))) continue;
    throw new FlagError(`--${name}: ${goQuote(String(value))} is not supported`);
  }
}

/** Those without effect that were given. */
export function flagsWithoutEffect({ withoutEffect }: AcceptedFlags, flags: Flags): string[] {
  return withoutEffect
    .filter((name) => flags[optionName(name)] !== undefined)
    .map((name) => `--${name}`);
}

export function reportWithoutEffect(flags: readonly string[], logger: Logger): void {
  if (flags.length > 0) logger.warn("flags without effect", { flags });
}

/** Of every component that is built on upstream's generic server, and of its logs. */
export const SERVER_FLAGS_WITHOUT_EFFECT: readonly string[] = [
  ...["allow-metric-labels", "allow-metric-labels-manifest", "disabled-metrics"],
  ...["show-hidden-metrics-for-version", "contention-profiling", "profiling"],
  ...["authentication-kubeconfig", "authentication-skip-lookup"],
  ...["authentication-token-webhook-cache-ttl", "authentication-tolerate-lookup-failure"],
  ...["authorization-always-allow-paths", "authorization-kubeconfig"],
  ...["authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl"],
  ...["cert-dir", "disable-http2-serving"],
  ...["http2-max-streams-per-connection", "permit-address-sharing", "permit-port-sharing"],
  ...["requestheader-allowed-names", "requestheader-client-ca-file"],
  ...["requestheader-extra-headers-prefix", "requestheader-group-headers"],
  ...["requestheader-uid-headers", "requestheader-username-headers"],
  ...["tls-cipher-suites", "tls-curve-preferences", "tls-min-version", "tls-sni-cert-key"],
  ...["controller-start-interval", "feature-gates"],
  ...["enable-leader-migration", "leader-migration-config", "kube-api-content-type"],
  ...["log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream"],
  ...["log-text-info-buffer-size", "log-text-split-stream", "vmodule"],
];
