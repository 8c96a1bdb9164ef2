/**
 * The cloud controller manager as a component of `k8ts up`, with the provider `local`: Services of type
 * LoadBalancer get an address that this machine has. It may do what its ClusterRole says, no more.
 */
import { Client } from "#client/client.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { CLOUD_CONTROLLER_DEFAULTS, cloudControllers } from "#cloud/cloud-controllers.ts";
import { CLOUD_LEASE, CLOUD_NAMESPACE } from "#cloud/cloud-role.ts";
import { localProviderOf } from "#cloud/providers/local/start-local.ts";
import { Metrics } from "#lib/metrics.ts";
import { isShared } from "../../apiserver/open-store.ts";
import { CLOUD_USER, ensureCloudAccess } from "../../cloud-controller-manager/cloud-access.ts";
import { withLeaderMetric } from "../../controller-manager/leader-metrics.ts";
import { runControllers } from "../../controller-manager/run-controllers.ts";
import type { ClusterContext, Component } from "../component.ts";
import { APISERVER } from "./apiserver-component.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const ACCOUNT = {
  name: CLOUD_USER,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};
const FIELD_MANAGER = "cloud-controller-manager";
const SERVICES_AT_ONCE = 4;

export const cloudComponent: Component = {
  name: "cloud-controller-manager",
  needs: [APISERVER],
  run: (cluster, signal) => ({ ready: Promise.resolve(), done: run(cluster, signal) }),
};

async function run(cluster: ClusterContext, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, hostname, flags } = cluster;
  // Of its own: the controller manager's have the same names.
  const metrics = new Metrics();
  using _shown = cluster.metrics.include(metrics);
  const clientAs = (user: typeof ADMIN): Client => {
    const transport = cluster.transportAs(user, FIELD_MANAGER);
    return new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  };
  await ensureCloudAccess(clientAs(ADMIN), signal);
  const client = clientAs(ACCOUNT);
  const provider = localProviderOf(flags.loadBalancerRanges, client);
  const options = { ...CLOUD_CONTROLLER_DEFAULTS, serviceWorkers: SERVICES_AT_ONCE };
  const { controllers } = cloudControllers(provider, options);
  const lead = (leading: AbortSignal): Promise<void> =>
    runControllers(
      { controllers, collectGarbage: false, client, clock, random, logger, metrics },
      leading,
    );
  // An embedded store belongs to one process at a time: it takes over the lease of the last one at once.
  const identity = `${hostname}_${isShared(flags.server) ? random.uuid() : "k8ts-up"}`;
  const lease = { namespace: CLOUD_NAMESPACE, name: CLOUD_LEASE };
  try {
    const measured = withLeaderMetric(metrics, CLOUD_LEASE, lead);
    await runLeaderElection(
      { client, clock, random, logger, identity, ...lease },
      measured,
      signal,
    );
  } finally {
    await provider.close?.();
  }
}
