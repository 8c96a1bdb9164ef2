/** The controllers of a cluster in one process: they call the API server beside them directly. */
import { join } from "node:path";
import { Command as Parser } from "commander";
import { isIpv6Cidr } from "#api/validation/ip.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { RequestMetrics } from "#client/request-metrics.ts";
import { builtInControllers } from "#controllers/registry/controllers.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { ApiServerFlags } from "../apiserver/flags/flags.ts";
import { isShared } from "../apiserver/open-store.ts";
import type { RunningApiServer } from "../apiserver/run.ts";
import type { Surroundings } from "../apiserver/server-options.ts";
import { addControllerFlags, controllerOptionsOf } from "../controller-manager/controller-flags.ts";
import { toldToLead } from "../controller-manager/leader-metrics.ts";
import { runControllers } from "../controller-manager/run-controllers.ts";
import { inProcessClients } from "../in-process/in-process-clients.ts";
import { inProcessTransport } from "../in-process/in-process-transport.ts";

const POD_RANGES = { IPv4: "10.244.0.0/16", IPv6: "fd00:10:244::/56" };

/** Upstream's: a controller manager that runs elsewhere looks at it, too. */
const LEASE = { namespace: "kube-system", name: "kube-controller-manager" };

export interface ClusterControllersOptions extends Surroundings {
  readonly server: ApiServerFlags;
  /** Offer directories of the nodes as the default storage. */
  readonly localStorage: boolean;
  /** The API server's: one process tells of all its parts in one place. */
  readonly metrics: Metrics;
}

/** Always the same, and no controller manager's, which is a UUID. */
const EMBEDDED_IDENTITY = "k8ts-up";

/** What metrics call the API server that clients in its own process call. */
const HOST = "in-process";

/**
 * Lives until the signal aborts. The controllers work only while they hold the lease: a controller
 * manager may run beside them.
 */
export async function runClusterControllers(
  { api }: RunningApiServer,
  options: ClusterControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, hostname, localStorage, metrics, server: flags } = options;
  const begin = new RequestMetrics(metrics, clock).to(HOST);
  const { client, clientFor } = inProcessClients({
    transportAs: (user, agent) => inProcessTransport(api.handle, user, agent, begin),
    clock,
    random,
  });
  const controllers = builtInControllers({
    ...controllerOptionsOf(controllerFlags(flags), clock),
    ...(localStorage ? { localVolumes: { directory: join(flags.dataDir, "volumes") } } : {}),
  });
  const lead = (leading: AbortSignal): Promise<void> =>
    runControllers(
      {
        ...{ controllers, collectGarbage: true, client, clientFor },
        ...{ clock, random, logger, metrics },
      },
      leading,
    );
  // Of a store that one process has at a time, the lease of the last process can be taken at once.
  const identity = `${hostname}_${isShared(flags) ? random.uuid() : EMBEDDED_IDENTITY}`;
  const told = toldToLead(metrics, LEASE.name, lead);
  await runLeaderElection({ client, clock, random, logger, identity, ...LEASE }, told, signal);
}

/** The controller manager's flags, pointing at the keys that the cluster made. */
function controllerFlags({
  dataDir,
  clientCaFile,
  serviceAccountSigningKeyFile,
  serviceClusterIpRange: serviceRanges,
}: ApiServerFlags): Readonly<Record<string, unknown>> {
  const file = (name: string): string => join(dataDir, "pki", name);
  const podRanges = serviceRanges.map((range) => POD_RANGES[isIpv6Cidr(range) ? "IPv6" : "IPv4"]);
  const args = [
    "--allocate-node-cidrs",
    ...["--cluster-cidr", podRanges.join(",")],
    ...["--service-cluster-ip-range", serviceRanges.join(",")],
    ...["--service-account-private-key-file", serviceAccountSigningKeyFile ?? file("sa.key")],
    ...["--root-ca-file", clientCaFile ?? file("ca.crt")],
  ];
  // What another authority than the cluster's own trusts is not for us to sign.
  if (clientCaFile === undefined) {
    args.push("--cluster-signing-cert-file", file("ca.crt"));
    args.push("--cluster-signing-key-file", file("ca.key"));
  }
  return addControllerFlags(new Parser()).parse(args, { from: "user" }).opts();
}
