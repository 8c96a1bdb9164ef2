/**
 * Requests that change the protocol of their connection, such as WebSocket: when the endpoint agrees,
 * both connections become one. It ends when either side ends it, or when no byte has passed for the
 * read timeout of the route.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "#lib/time/clock.ts";
import type { Backend, Route } from "../routes/routing-table.ts";
import type { TrafficState } from "./data-plane.ts";
import type { Endpoint } from "./endpoint-set.ts";
import { type Target, targetOf } from "./exchange.ts";
import { cookieOf, responseHeaders } from "./headers.ts";
import type { Outgoing } from "./http1-upstream.ts";
import type { RequestProxy } from "./request-proxy.ts";
import { rewritePath } from "./rewrite-path.ts";

export interface UpgradeProxyOptions {
  readonly state: TrafficState;
  readonly clock: Clock;
  readonly proxy: RequestProxy;
  readonly isFronted?: boolean;
}

const ATTEMPTS_MAX = 3;

export function handleUpgrade(
  options: UpgradeProxyOptions,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): void {
  client.on("error", () => client.destroy());
  const upgrade = upgradeOf(options, request, client, head);
  if (typeof upgrade === "number") refuse(client, upgrade);
  else void connect(options, upgrade).catch(() => client.destroy());
}

/** Or the status of the refusal. */
function upgradeOf(
  { state, isFronted }: UpgradeProxyOptions,
  request: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Upgrade | 400 | 404 | 503 {
  const target = targetOf(request, isFronted);
  if (target === undefined) return 400;
  const match = state.table().find(target.host, target.path);
  if (match === undefined) return 404;
  const { backend, policy } = match.route;
  const isHttp1 = backend?.protocol === "HTTP" || backend?.protocol === "HTTPS";
  if (backend === undefined || !isHttp1) return 503;
  const path = rewritePath(target.path, match, policy.rewriteTarget) + target.query;
  return { request, client, head, target, route: match.route, backend, path };
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly client: Duplex;
  readonly head: Buffer;
  readonly target: Target;
  readonly route: Route;
  readonly backend: Backend;
  readonly path: string;
}

async function connect(options: UpgradeProxyOptions, upgrade: Upgrade): Promise<void> {
  const { state, clock } = options;
  const { request, route, backend, client } = upgrade;
  const endpoints = state.endpoints(backend);
  const { affinity } = route.policy;
  const cookie = affinity && cookieOf(request.headers.cookie, affinity.cookie);
  const tried = new Set<string>();
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
    const endpoint = endpoints.pick(clock.elapsedMs(), tried, cookie);
    if (endpoint === undefined) break;
    tried.add(endpoint.authority);
    if (await attempt(options, upgrade, endpoint)) return;
    endpoints.failed(endpoint, clock.elapsedMs());
  }
  refuse(client, endpoints.size === 0 ? 503 : 502);
}

/** Answers false if nothing was sent. */
function attempt(
  { proxy }: UpgradeProxyOptions,
  { request, client, head, target, route, backend, path }: Upgrade,
  endpoint: Endpoint,
): Promise<boolean> {
  const { policy } = route;
  const headers = proxy.headersFor(target, request.rawHeaders);
  headers.push("Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? "websocket");
  const outgoing: Outgoing = {
    ...{ method: request.method ?? "GET", path, headers, hasBody: false, bodyBytesMax: 0, policy },
    ...{ isTls: backend.protocol === "HTTPS", extraHeaders: [] },
  };
  const upstream = proxy.http1.request(endpoint, outgoing);
  return new Promise((resolve) => {
    let isConnected = false;
    upstream.on("socket", (socket) => {
      const connected = (): void => {
        isConnected = true;
        upstream.setTimeout(policy.readTimeoutMs);
      };
      if (socket.connecting) socket.once("connect", connected);
      else connected();
    });
    upstream.on("timeout", () => upstream.destroy(new Error("timeout")));
    upstream.on("error", () => {
      resolve(isConnected);
      if (isConnected) refuse(client, 502);
    });
    client.once("close", () => upstream.destroy());
    upstream.on("response", (response) => {
      resolve(true);
      // The endpoint refused the upgrade: its response is forwarded, and the connection ends with it.
      client.write(headOf(response, ["Connection", "close"]));
      response.pipe(client);
    });
    upstream.on("upgrade", (response, socket, first) => {
      resolve(true);
      client.write(headOf(response, ["Connection", "Upgrade", "Upgrade", protocolOf(response)]));
      if (first.length > 0) client.write(first);
      if (head.length > 0) socket.write(head);
      join(client, socket, policy.readTimeoutMs);
    });
    upstream.end();
  });
}

function join(client: Duplex, endpoint: Duplex, idleMs: number): void {
  const end = (): void => {
    client.destroy();
    endpoint.destroy();
  };
  for (const side of [client, endpoint]) {
    side.on("error", end);
    side.on("close", end);
  }
  // Bytes in either direction pass through this socket, so it is idle only if both are.
  if (endpoint instanceof Socket) endpoint.setTimeout(idleMs, end);
  client.pipe(endpoint);
  endpoint.pipe(client);
}

function headOf(response: IncomingMessage, extra: readonly string[]): string {
  const { statusCode = 502, statusMessage = "" } = response;
  const headers = [...responseHeaders(response.rawHeaders), ...extra];
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${text}\r\n`;
}

function protocolOf({ headers }: IncomingMessage): string {
  return headers.upgrade ?? "websocket";
}

function refuse(client: Duplex, status: number): void {
  if (client.destroyed) return;
  const text = STATUS_CODES[status] ?? "";
  client.end(`HTTP/1.1 ${status} ${text}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}
