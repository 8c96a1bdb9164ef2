/** Tells in metrics whether this instance leads. */
import type { Metrics } from "#lib/metrics.ts";

type Lead = (signal: AbortSignal) => Promise<void>;

/** The same work, told of while it goes on. */
export function toldToLead(metrics: Metrics, lease: string, lead: Lead): Lead {
  const isLeader = metrics.gauge({
    name: "leader_election_master_status",
    help: "1 while this instance holds the lease, 0 while it waits for it.",
    labels: ["name"],
  })(lease);
  return async (signal) => {
    isLeader.set(1);
    try {
      await lead(signal);
    } finally {
      isLeader.set(0);
    }
  };
}
