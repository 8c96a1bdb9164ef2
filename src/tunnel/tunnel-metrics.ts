/** The metrics of a Konnectivity server, with upstream's names. */
import type { Metrics } from "#lib/metrics.ts";
import type { TunnelServer } from "./tunnel-server.ts";

const PREFIX = "konnectivity_network_proxy_server_";

export function addTunnelMetrics(metrics: Metrics, server: TunnelServer): void {
  metrics.gaugeOf(
    {
      name: `${PREFIX}ready_backend_connections`,
      help: "Number of konnectivity agent connected to the proxy server. DEPRECATED, please use ready_backends",
    },
    () => server.agents.length,
  );
  metrics.gaugesOf(
    {
      name: `${PREFIX}ready_backends`,
      help: "Number of konnectivity agent connected to the proxy server",
      labels: ["proxy_strategy"],
    },
    () => server.strategies.map((name) => ({ labels: [name], value: server.agents.length })),
  );
  metrics.gaugeOf(
    {
      name: `${PREFIX}pending_backend_dials`,
      help: "Current number of pending backend dial requests",
    },
    () => server.pendingDials,
  );
  metrics.gaugeOf(
    {
      name: `${PREFIX}established_connections`,
      help: "Current number of established end-to-end connections (post-dial).",
    },
    () => server.establishedConnections,
  );
  metrics.countersOf(
    {
      name: `${PREFIX}dial_failure_count`,
      help: "Number of dial failures observed. Multiple failures can occur for a single dial request.",
      labels: ["reason"],
    },
    () => [...server.dialFailures].map(([reason, value]) => ({ labels: [reason], value })),
  );
}
