/**
 * The cloud controller manager as a component of `k8ts up`, with the provider `local`: Services of type
 * LoadBalancer get an address that this machine has or, where nodes are namespaces, that it routes to
 * them. It may do what its ClusterRole says, no more.
 */
import { Client } from "#client/client.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { CLOUD_CONTROLLER_DEFAULTS, cloudControllers } from "#cloud/cloud-controllers.ts";
import { CLOUD_LEASE, CLOUD_NAMESPACE } from "#cloud/cloud-role.ts";
import { localProviderOf } from "#cloud/providers/local/start-local.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { Metrics } from "#lib/metrics.ts";
import { BalancedAddresses } from "#network/balanced-addresses.ts";
import { networkMarks } from "#network/network-marks.ts";
import { isShared } from "../../apiserver/open-store.ts";
import { CLOUD_USER, ensureCloudAccess } from "../../cloud-controller-manager/cloud-access.ts";
import { withLeaderMetric } from "../../controller-manager/leader-metrics.ts";
import { runControllers } from "../../controller-manager/run-controllers.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { PROXY_USER } from "./proxy-component.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const ACCOUNT = {
  name: CLOUD_USER,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};
const FIELD_MANAGER = "cloud-controller-manager";
const SERVICES_AT_ONCE = 4;

export const runCloud: RunComponent = (cluster, signal) => ({
  ready: Promise.resolve(),
  done: run(cluster, signal),
});

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
  const ranges = flags.loadBalancerRanges;
  const routed = flags.machineNode ? undefined : routedAddresses(cluster);
  const routing = routed?.run(signal) ?? untilAborted(signal);
  const provider = localProviderOf(ranges, client, routed);
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
    await routing;
    await routed?.close();
  }
}

function routedAddresses(cluster: ClusterContext): BalancedAddresses {
  const { clock, random, logger, flags } = cluster;
  const transport = cluster.transportAs(PROXY_USER, FIELD_MANAGER);
  const client = new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  const marks = networkMarks(flags.server.dataDir);
  const ranges = flags.loadBalancerRanges;
  return new BalancedAddresses({ client, clock, random, logger, marks, ranges });
}
