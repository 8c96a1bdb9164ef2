/**
 * The controllers as a component of `k8ts up`: they call the API server beside them directly. They
 * work only while they hold the lease, because a controller manager may run beside them.
 */

import { join } from "node:path";
import { runLeaderElection } from "#client/leader-election.ts";
import { HeldLease, LeaderTransport } from "#client/leader-transport.ts";
import { builtInControllers } from "#controllers/registry/controllers.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { isShared } from "../../apiserver/open-store.ts";
import { controllerOptionsOf } from "../../controller-manager/controller-flags.ts";
import { withLeaderMetric } from "../../controller-manager/leader-metrics.ts";
import { withPace } from "../../controller-manager/pace-flags.ts";
import { runControllers } from "../../controller-manager/run-controllers.ts";
import { withWorkers, workersOf } from "../../controller-manager/worker-flags.ts";
import type { Flags } from "../../flags/read-flags.ts";
import { inProcessClients } from "../../in-process/in-process-clients.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { podRangesOf } from "../pod-ranges.ts";
import type { UpFlags } from "../up-flags.ts";

/** Upstream's: a controller manager that runs elsewhere looks at it, too. */
const LEASE = { namespace: "kube-system", name: "kube-controller-manager" };

/** The same at every start. A controller manager's identity ends with a UUID instead. */
const EMBEDDED_IDENTITY = "k8ts-up";

export const runControllerManager: RunComponent = (cluster, signal) => ({
  ready: Promise.resolve(),
  done: run(cluster, signal),
});

async function run(cluster: ClusterContext, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, hostname, metrics, flags } = cluster;
  const held = new HeldLease(clock);
  const { client, clientFor } = inProcessClients({
    ...{ clock, random },
    transportAs: (user, agent) => new LeaderTransport(cluster.transportAs(user, agent), held),
  });
  const { server, localStorage } = flags;
  const resources = new ResourceSet();
  const managerFlags = { ...controllerFlags(flags), ...flags.controllers.given };
  const all = builtInControllers({
    resources,
    features: server.features,
    ...controllerOptionsOf(managerFlags, clock),
    ...(localStorage ? { localVolumes: { directory: join(server.dataDir, "volumes") } } : {}),
  });
  const controllers = withPace(withWorkers(all, managerFlags), managerFlags, random);
  const garbageWorkers = workersOf("garbage-collector-controller", managerFlags);
  const lead = (leading: AbortSignal): Promise<void> =>
    runControllers(
      {
        ...{ controllers, resources, collectGarbage: true, garbageWorkers, client, clientFor },
        ...{ clock, random, logger, metrics },
        onRuntime: (runtime) => {
          cluster.deciders.controllers = runtime;
        },
      },
      leading,
    );
  // An embedded store belongs to one process at a time: it takes over the lease of the last one at once.
  const identity = `${hostname}_${isShared(server) ? random.uuid() : EMBEDDED_IDENTITY}`;
  const measured = withLeaderMetric(metrics, LEASE.name, lead);
  await runLeaderElection(
    { client, clock, random, logger, identity, held, ...LEASE },
    measured,
    signal,
  );
}

/** The controller manager's flags at their defaults, pointing at the keys that the cluster made. */
function controllerFlags({ server, controllers, simulate }: UpFlags): Flags {
  const { dataDir, clientCaFile, serviceAccountSigningKeyFile } = server;
  const { serviceClusterIpRange: serviceRanges } = server;
  const file = (name: string): string => join(dataDir, "pki", name);
  return {
    ...controllers.all,
    allocateNodeCidrs: true,
    clusterCidr: podRangesOf(serviceRanges, simulate).join(","),
    serviceClusterIpRange: serviceRanges.join(","),
    serviceAccountPrivateKeyFile: serviceAccountSigningKeyFile ?? file("sa.key"),
    rootCaFile: clientCaFile ?? file("ca.crt"),
    // What another authority than the cluster's own trusts is not for us to sign.
    ...(clientCaFile === undefined
      ? { clusterSigningCertFile: file("ca.crt"), clusterSigningKeyFile: file("ca.key") }
      : {}),
  };
}
