/**
 * The limits of an HTTP/1.1 server: connections, headers, and the time that a client may take. The API
 * server has more of them (src/apiserver/http), because it also serves HTTP/2 and knows its clients.
 */
import type { Server } from "node:http";

export interface ServerLimits {
  readonly connectionsMax: number;
  /** In which the headers have to arrive. */
  readonly headersWithinMs: number;
  /** In which the whole request has to arrive. */
  readonly requestWithinMs: number;
  /** How long a connection may stay open without a request. */
  readonly idleMs: number;
  /** Node.js drops those beyond: enough for all groups of a user in headers of their own. */
  readonly headersMax: number;
}

const DEFAULTS: ServerLimits = {
  connectionsMax: 100,
  headersWithinMs: 10_000,
  requestWithinMs: 10_000,
  idleMs: 5_000,
  headersMax: 2_000,
};

type Limited = Pick<
  Server,
  "maxConnections" | "headersTimeout" | "requestTimeout" | "keepAliveTimeout" | "maxHeadersCount"
>;

/** Returns the server. Limits that are not given are those of a status page. */
export function limitServer<T extends Limited>(server: T, limits: Partial<ServerLimits> = {}): T {
  const all = { ...DEFAULTS, ...limits };
  server.maxConnections = all.connectionsMax;
  server.headersTimeout = Math.min(all.headersWithinMs, all.requestWithinMs);
  server.requestTimeout = all.requestWithinMs;
  server.keepAliveTimeout = all.idleMs;
  server.maxHeadersCount = all.headersMax;
  return server;
}
