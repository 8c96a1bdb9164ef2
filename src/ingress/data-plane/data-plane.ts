/**
 * The seam between what the cluster says and what carries requests.
 *
 * Promises of a data plane:
 * 1. A request is answered by the routes, certificates and endpoints that `TrafficState` has when the
 *    request begins. Connections that are open go on when these change.
 * 2. What was never sent to an endpoint is tried at another.
 * 3. Everything that a client can make it hold (connections, requests, headers, bodies) has a limit.
 */
import type { SecureContext } from "node:tls";
import type { Backend, RoutingTable } from "../routes/routing-table.ts";
import type { EndpointSet } from "./endpoint-set.ts";

/** What the cluster says now; the data plane asks at each request. */
export interface TrafficState {
  table(): RoutingTable;
  endpoints(backend: Backend): EndpointSet;
  certificate(serverName: string): SecureContext;
}

export interface Limits {
  readonly connectionsMax: number;
  /** Requests that are executing, over all connections. */
  readonly requestsMax: number;
}

export const LIMITS: Limits = { connectionsMax: 10_000, requestsMax: 10_000 };

/** One line of the access log. */
export interface AccessEntry {
  readonly timeMs: number;
  readonly client: string;
  readonly protocol: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly status: number;
  readonly bytes: number;
  readonly durationMs: number;
  /** `namespace/name`, or empty if no route matched. */
  readonly ingress: string;
  readonly service: string;
  /** Where it was sent last; empty if nowhere. */
  readonly upstream: string;
}
