/**
 * The scheduler as a component of `k8ts up`: it calls the API server beside it directly. It works
 * only while it holds the lease, because another scheduler may run beside it.
 */
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { HeldLease, LeaderTransport } from "#client/leader-transport.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { isShared } from "../../apiserver/open-store.ts";
import { runScheduler } from "../../scheduler/run-scheduler.ts";
import type { ClusterContext, RunComponent } from "../component.ts";

const SCHEDULER: User = { name: "system:kube-scheduler", groups: ["system:authenticated"] };
const FIELD_MANAGER = "kube-scheduler";

/** Upstream's: a scheduler that runs elsewhere looks at it, too. */
const LEASE = { namespace: "kube-system", name: "kube-scheduler" };

/** The same at every start. The identity of a scheduler that runs alone ends with a UUID instead. */
const EMBEDDED_IDENTITY = "k8ts-up";

export const runSchedulerComponent: RunComponent = (cluster, signal) => ({
  ready: Promise.resolve(),
  done: run(cluster, signal),
});

async function run(cluster: ClusterContext, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, hostname, metrics, flags } = cluster;
  const held = new HeldLease(clock);
  const transport = new LeaderTransport(cluster.transportAs(SCHEDULER, FIELD_MANAGER), held);
  const client = new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  const lead = async (leading: AbortSignal): Promise<void> => {
    await nextTurn(); // the start of a scheduler is work for one
    const parts = { client, clock, random, logger, metrics, hostname };
    const { done, records } = runScheduler(parts, leading);
    cluster.deciders.scheduler = records;
    await done;
  };
  // An embedded store belongs to one process at a time: it takes over the lease of the last one at once.
  const identity = `${hostname}_${isShared(flags.server) ? random.uuid() : EMBEDDED_IDENTITY}`;
  await runLeaderElection(
    { client, clock, random, logger, identity, held, ...LEASE },
    lead,
    signal,
  );
}
