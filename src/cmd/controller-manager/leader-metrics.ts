/** The metric leader_election_master_status. */
import type { Metrics } from "#lib/metrics.ts";

type Lead = (signal: AbortSignal) => Promise<void>;

/** Sets the metric while `lead` runs. */
export function withLeaderMetric(metrics: Metrics, lease: string, lead: Lead): Lead {
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
