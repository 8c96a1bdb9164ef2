/** The connections of a manager that writes only while it holds its lease. */
import { HttpsTransport } from "#client/https-transport.ts";
import type { Connection } from "#client/kubeconfig.ts";
import { type HeldLease, LeaderTransport } from "#client/leader-transport.ts";
import type { RequestMetrics } from "#client/request-metrics.ts";
import type { Clock } from "#lib/time/clock.ts";

export function leaderTransports(
  userAgent: string,
  requests: RequestMetrics,
  clock: Clock,
  held: HeldLease,
): (to: Connection) => LeaderTransport {
  return (to) => {
    const begin = requests.to(new URL(to.server).host);
    return new LeaderTransport(
      new HttpsTransport(to, userAgent, begin, { http2: { clock } }),
      held,
    );
  };
}
