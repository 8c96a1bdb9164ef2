/** The flags of `k8ts cloud-controller-manager`: upstream's names and defaults. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { Command as Parser } from "commander";
import { isIpv6Cidr, parseCidr } from "#api/validation/ip.ts";
import type { Connection } from "#client/kubeconfig.ts";
import type { RateLimit } from "#client/rate-limit.ts";
import { CLOUD_CONTROLLER_NAMES, type CloudControllerOptions } from "#cloud/cloud-controllers.ts";
import { CLOUD_LEASE, CLOUD_NAMESPACE } from "#cloud/cloud-role.ts";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ComponentServerOptions } from "../component/component-server.ts";
import {
  CLIENT_CA_HELP,
  clientCaOf,
  servingCertificate,
} from "../component/serving-certificate.ts";
import { rateLimitOf } from "../controller-manager/pace-flags.ts";
import {
  type AcceptedFlags,
  addAcceptedFlags,
  flagsWithoutEffect,
  refuseOtherValues,
  SERVER_FLAGS_WITHOUT_EFFECT,
} from "../flags/accepted-flags.ts";
import { connectionOf, portOf } from "../flags/connection-flags.ts";
import { addLogFlags, type LogFlags, logFlagsOf } from "../flags/log-flags.ts";
import { addVersionFlag, FlagError } from "../flags/parse-flags.ts";
import { countOf, durationOf, type Flags, isOn, numberOf, textOf } from "../flags/read-flags.ts";

const WORKERS_MAX = 1_000;
const NAMES = Object.keys(CLOUD_CONTROLLER_NAMES);

export interface CloudManagerConfig {
  readonly log: LogFlags;
  readonly connection: Connection;
  readonly provider: string;
  /** The text of the file of --cloud-config. */
  readonly providerConfig: string;
  readonly options: CloudControllerOptions;
  isEnabled(controller: string): boolean;
  readonly useAccounts: boolean;
  readonly rateLimit: RateLimit | undefined;
  readonly election: CloudElection | undefined;
  /** Flags that were given and change nothing. */
  readonly withoutEffect: readonly string[];
  readonly serving: Pick<ComponentServerOptions, "host" | "port" | "tls">;
}

export interface CloudElection {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** Flags of upstream's cloud controller managers that have no effect here. */
const UPSTREAM_FLAGS: AcceptedFlags = {
  withoutEffect: [
    ...SERVER_FLAGS_WITHOUT_EFFECT,
    ...["allow-untagged-cloud", "external-cloud-volume-plugin", "min-resync-period"],
    ...["node-sync-period", "webhook-bind-address", "webhook-cert-dir", "webhook-secure-port"],
    ...["webhook-disable-http2-serving", "webhook-tls-cert-file", "webhook-tls-cipher-suites"],
    ...["node-cidr-mask-size", "node-cidr-mask-size-ipv4", "node-cidr-mask-size-ipv6"],
    ...["service-cluster-ip-range", "webhook-tls-sni-cert-key"],
    ...["webhook-tls-curve-preferences", "webhook-tls-min-version", "webhook-tls-private-key-file"],
  ],
  kept: {
    "cidr-allocator-type": /^(RangeAllocator|CloudAllocator)?$/,
    "leader-elect-resource-lock": /^leases$/,
    webhooks: /^\*?$/,
  },
};

export function cloudManagerFlags(): Parser {
  const parser = addLogFlags(addVersionFlag(new Parser("k8ts cloud-controller-manager")))
    .option("--cloud-provider <name>", "local, simulated, a path (./provider.js) or a package")
    .option("--cloud-config <file>", "the provider's own configuration")
    .option("--kubeconfig <file>", "how to reach the API server; inside a pod its service account")
    .option("--master <url>", "the API server, if not the one of the kubeconfig")
    .option(
      "--controllers <names>",
      `\`*\` for all, \`name\` to add one, \`-name\` to leave one out. All: ${NAMES.join(", ")}`,
      "*",
    )
    .option("--cluster-name <name>", "what the provider calls the cluster", "kubernetes")
    .option("--cluster-cidr <cidrs>", "the pods' ranges, for routes", "")
    .option("--allocate-node-cidrs [bool]", "nodes have pod ranges, so routes may be made", "false")
    .option("--configure-cloud-routes [bool]", "make routes to the nodes' pod ranges", "true")
    .option("--route-reconciliation-period <duration>", "how often routes are compared", "10s")
    .option(
      "--node-monitor-period <duration>",
      "how often the cloud is asked about nodes that are not Ready",
      "5s",
    )
    .option("--node-status-update-frequency <duration>", "how often addresses are compared", "5m")
    .option("--concurrent-node-syncs <number>", "nodes at once", "1")
    .option(
      "--concurrent-node-status-updates <number>",
      "nodes whose addresses are compared at once; 0 for the number of --concurrent-node-syncs",
      "0",
    )
    .option("--concurrent-service-syncs <number>", "Services at once", "1")
    .option("--kube-api-qps <number>", "requests a second; no limit unless given")
    .option("--kube-api-burst <number>", "requests at once; no limit unless given")
    .option(
      "--use-service-account-credentials [bool]",
      "let each controller act as its own service account",
      "false",
    )
    .option("--bind-address <ip>", "where health and metrics are served", "0.0.0.0")
    .option("--secure-port <port>", "of health and metrics; 0 for none", "10258")
    .option("--tls-cert-file <file>", "to serve with; one of its own unless given")
    .option("--tls-private-key-file <file>", "its key")
    .option("--client-ca-file <file>", CLIENT_CA_HELP)
    .option("--leader-elect [bool]", "work only while holding the lease", "true")
    .option("--leader-elect-lease-duration <duration>", "how long others wait", "15s")
    .option("--leader-elect-renew-deadline <duration>", "when to give up", "10s")
    .option("--leader-elect-retry-period <duration>", "how often to try", "2s")
    .option("--leader-elect-resource-name <name>", "of the lease", CLOUD_LEASE)
    .option("--leader-elect-resource-namespace <name>", "of the lease", CLOUD_NAMESPACE);
  return addAcceptedFlags(parser, UPSTREAM_FLAGS);
}

export function cloudManagerConfigOf(flags: Flags, clock: Clock): CloudManagerConfig {
  const text = (name: string): string => textOf(flags, name) ?? "";
  if (text("cloud-provider") === "") throw new FlagError("--cloud-provider cannot be empty");
  refuseOtherValues(UPSTREAM_FLAGS, flags);
  const certFile = text("tls-cert-file");
  const keyFile = text("tls-private-key-file");
  return {
    log: logFlagsOf({ v: Number(flags.v ?? 0), loggingFormat: text("logging-format") }),
    provider: text("cloud-provider"),
    providerConfig: configText(text("cloud-config")),
    options: {
      clusterName: text("cluster-name"),
      clusterCidrs: routedRanges(flags),
      nodeMonitorPeriodMs: durationOf(flags, "node-monitor-period"),
      nodeStatusUpdateMs: durationOf(flags, "node-status-update-frequency"),
      routePeriodMs: durationOf(flags, "route-reconciliation-period"),
      nodeWorkers: nodeWorkersOf(flags),
      serviceWorkers: countOf(flags, "concurrent-service-syncs", WORKERS_MAX),
    },
    isEnabled: selectionOf(text("controllers")),
    useAccounts: isOn(flags, "use-service-account-credentials"),
    rateLimit: rateLimitOf(flags),
    election: isOn(flags, "leader-elect") ? electionOf(flags) : undefined,
    withoutEffect: flagsWithoutEffect(UPSTREAM_FLAGS, flags),
    serving: {
      host: text("bind-address"),
      port: portOf(text("secure-port")),
      tls: servingCertificate({ certFile, keyFile }, hostname(), clock),
      ...clientCaOf(text("client-ca-file")),
    },
    // Last: what is wrong with flags is said before files are looked for.
    connection: connectionOf(text("kubeconfig"), text("master")),
  };
}

/** One queue serves initialization and addresses: the larger of the two numbers counts. */
function nodeWorkersOf(flags: Flags): number {
  const syncs = numberOf(flags, "concurrent-node-syncs");
  const updates = numberOf(flags, "concurrent-node-status-updates");
  if (syncs <= 0) throw new FlagError("concurrent-node-syncs must be a positive number");
  if (updates < 0) {
    throw new FlagError("concurrent-node-status-updates cannot be a negative number");
  }
  const syncsMax = countOf(flags, "concurrent-node-syncs", WORKERS_MAX);
  if (updates === 0) return syncsMax;
  return Math.max(syncsMax, countOf(flags, "concurrent-node-status-updates", WORKERS_MAX));
}

function electionOf(flags: Flags): CloudElection {
  return {
    namespace: textOf(flags, "leader-elect-resource-namespace") ?? CLOUD_NAMESPACE,
    name: textOf(flags, "leader-elect-resource-name") ?? CLOUD_LEASE,
    leaseDurationMs: durationOf(flags, "leader-elect-lease-duration"),
    renewDeadlineMs: durationOf(flags, "leader-elect-renew-deadline"),
    retryPeriodMs: durationOf(flags, "leader-elect-retry-period"),
  };
}

function configText(file: string): string {
  if (file === "") return "";
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new FlagError(`--cloud-config: ${messageOf(error)}`);
  }
}

/** One range, or one of each family; none if routes are not wanted. */
function routedRanges(flags: Flags): readonly string[] {
  if (!isOn(flags, "allocate-node-cidrs") || !isOn(flags, "configure-cloud-routes")) return [];
  const ranges = (textOf(flags, "cluster-cidr") ?? "").split(",").filter((range) => range !== "");
  for (const range of ranges) {
    if (parseCidr(range) === undefined) {
      throw new FlagError(`--cluster-cidr: invalid CIDR address: ${range}`);
    }
  }
  const families = new Set(ranges.map(isIpv6Cidr));
  if (ranges.length > 2 || families.size < ranges.length) {
    throw new FlagError("--cluster-cidr: must be one range, or one of each IP family");
  }
  return ranges;
}

/** By canonical name or alias; the first that is named decides. */
function selectionOf(text: string): (controller: string) => boolean {
  const wanted = text.split(",").filter((name) => name !== "");
  const known = new Set([...NAMES, ...Object.values(CLOUD_CONTROLLER_NAMES), "*"]);
  for (const name of wanted) {
    if (known.has(name.replace(/^-/, ""))) continue;
    throw new FlagError(`"${name}" is not in the list of known controllers`);
  }
  return (controller) => {
    const names = [controller, CLOUD_CONTROLLER_NAMES[controller] ?? ""];
    if (names.some((name) => wanted.includes(`-${name}`))) return false;
    return wanted.includes("*") || names.some((name) => wanted.includes(name));
  };
}
