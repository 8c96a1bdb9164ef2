/** The flags of `k8ts scheduler`, under upstream's names, and what they mean together. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { Command as Parser } from "commander";
import { readYaml } from "#api/codec/yaml-reader.ts";
import type { Connection } from "#client/kubeconfig.ts";
import type { Clock } from "#lib/time/clock.ts";
import { ConfigError } from "#scheduler/config/config-error.ts";
import { objectOf } from "#scheduler/config/json-values.ts";
import {
  electionTimes,
  type LeaderElectionFields,
} from "#scheduler/config/leader-election-config.ts";
import { type ConfigFile, EMPTY_CONFIG, readConfig } from "#scheduler/config/read-config.ts";
import type { SchedulerConfig } from "#scheduler/config/scheduler-config.ts";
import type { ComponentServerOptions } from "../component/component-server.ts";
import {
  CLIENT_CA_HELP,
  clientCaOf,
  servingCertificate,
} from "../component/serving-certificate.ts";
import { connectionOf, portOf } from "../flags/connection-flags.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { FlagError } from "../flags/parse-flags.ts";
import { durationOf, type Flags, optionName, textOf } from "../flags/read-flags.ts";

export interface SchedulerProcessConfig {
  readonly log: LogFlags;
  readonly connection: Connection;
  readonly scheduler: SchedulerConfig;
  readonly serving: Pick<ComponentServerOptions, "host" | "port" | "tls">;
  readonly election: ElectionConfig | undefined;
}

interface ElectionConfig {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** Flags of upstream's scheduler that have nothing to act on here; they are taken and named. */
const NOTHING_TO_ACT_ON: readonly string[] = [
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
  ...["emulated-version", "feature-gates", "min-compatibility-version"],
  ...["kube-api-burst", "kube-api-content-type", "kube-api-qps"],
  ...["log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream"],
  ...["log-text-info-buffer-size", "log-text-split-stream", "vmodule"],
  "write-config-to",
];

export function schedulerFlags(): Parser {
  const parser = addLogFlags(new Parser("k8ts scheduler"))
    .option("--config <file>", "a KubeSchedulerConfiguration")
    .option("--kubeconfig <file>", "how to reach the API server; inside a pod its service account")
    .option("--master <url>", "the API server, if not the one of the kubeconfig")
    .option("--bind-address <ip>", "where health and metrics are served", "0.0.0.0")
    .option("--secure-port <port>", "of health and metrics; 0 for none", "10259")
    .option("--tls-cert-file <file>", "to serve with; one of its own unless given")
    .option("--tls-private-key-file <file>", "its key")
    .option("--client-ca-file <file>", CLIENT_CA_HELP)
    .option("--leader-elect [bool]", "work only while holding the lease (default true)")
    .option("--leader-elect-lease-duration <duration>", "how long others wait (default 15s)")
    .option("--leader-elect-renew-deadline <duration>", "when to give up (default 10s)")
    .option("--leader-elect-retry-period <duration>", "how often to try (default 2s)")
    .option("--leader-elect-resource-lock <kind>", "of the lock, only leases (default leases)")
    .option("--leader-elect-resource-name <name>", "of the lease (default kube-scheduler)")
    .option("--leader-elect-resource-namespace <name>", "of the lease (default kube-system)")
    .option(
      "--pod-max-in-unschedulable-pods-duration <duration>",
      "a pod that waits longer is tried again without a reason",
      "5m",
    );
  for (const name of NOTHING_TO_ACT_ON) {
    parser.addOption(parser.createOption(`--${name} [value]`).hideHelp());
  }
  return parser;
}

/** The flags with the values that they have, for /flagz. */
export function flagValues(parser: Parser): Readonly<Record<string, string>> {
  const values = Object.entries(parser.opts<Record<string, unknown>>());
  const nameOf = new Map(
    parser.options.map((option) => [option.attributeName(), option.long?.slice(2) ?? ""]),
  );
  return Object.fromEntries(values.map(([key, value]) => [nameOf.get(key) ?? key, String(value)]));
}

/** Those of the flags without effect that were given. */
export function flagsWithoutEffect(parser: Parser): readonly string[] {
  const isGiven = (name: string): boolean =>
    parser.getOptionValueSource(optionName(name)) === "cli";
  return NOTHING_TO_ACT_ON.filter(isGiven).map((name) => `--${name}`);
}

export function schedulerConfigOf(flags: Flags, clock: Clock): SchedulerProcessConfig {
  const text = (name: string): string => String(flags[name] ?? "");
  const file = readConfigFile(text("config"), electionFlags(flags));
  // As upstream says, the file comes before the flag.
  const kubeconfig = file.kubeconfig ?? text("kubeconfig");
  const files = { certFile: text("tlsCertFile"), keyFile: text("tlsPrivateKeyFile") };
  return {
    log: logFlagsOf({ v: Number(text("v")), loggingFormat: text("loggingFormat") }),
    connection: connectionOf(kubeconfig, text("master")),
    scheduler: {
      ...file.scheduler,
      unschedulableMaxMs: durationOf(flags, "pod-max-in-unschedulable-pods-duration"),
    },
    serving: {
      host: text("bindAddress"),
      port: portOf(text("securePort")),
      tls: servingCertificate(files, hostname(), clock),
      ...clientCaOf(text("clientCaFile")),
    },
    election: electionOf(file),
  };
}

/** The flags that were given, as fields of the configuration. */
function electionFlags(flags: Flags): Partial<LeaderElectionFields> {
  const isElected = textOf(flags, "leader-elect");
  const given: Partial<Record<keyof LeaderElectionFields, unknown>> = {
    leaderElect: isElected === undefined ? undefined : isElected !== "false",
    leaseDuration: textOf(flags, "leader-elect-lease-duration"),
    renewDeadline: textOf(flags, "leader-elect-renew-deadline"),
    retryPeriod: textOf(flags, "leader-elect-retry-period"),
    resourceLock: textOf(flags, "leader-elect-resource-lock"),
    resourceName: textOf(flags, "leader-elect-resource-name"),
    resourceNamespace: textOf(flags, "leader-elect-resource-namespace"),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function electionOf({ leaderElection }: ConfigFile): ElectionConfig | undefined {
  if (!leaderElection.leaderElect) return undefined;
  const { resourceName: name, resourceNamespace: namespace } = leaderElection;
  return { name, namespace, ...electionTimes(leaderElection) };
}

function readConfigFile(path: string, flags: Partial<LeaderElectionFields>): ConfigFile {
  if (path === "") return read(EMPTY_CONFIG, flags);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw new FlagError(`open ${path}: no such file or directory`);
  }
  const parsed = readYaml(text);
  if (!parsed.ok) throw new FlagError(parsed.error);
  const { apiVersion, kind } = objectOf(parsed.value);
  if (!kind) throw new FlagError(`Object 'Kind' is missing in '${text}'`);
  if (!apiVersion) throw new FlagError(`Object 'apiVersion' is missing in '${text}'`);
  return read(parsed.value, flags);
}

function read(document: unknown, flags: Partial<LeaderElectionFields>): ConfigFile {
  try {
    return readConfig(document, flags);
  } catch (error) {
    if (error instanceof ConfigError) throw new FlagError(error.message);
    throw error;
  }
}
