/**
 * Hands a request on to another server and its answer back, as they come. Headers that belong to one
 * connection stay where they are, and so do the credentials that were meant for this server.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import {
  badRequestStatus,
  failure,
  type Result,
  serviceUnavailableStatus,
  success,
} from "#api/meta/status.ts";
import type { OutgoingHeaders } from "../answer.ts";
import type { ApiRequest } from "../request.ts";
import type { Target } from "./target.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface Forwarded {
  readonly code: number;
  readonly headers: OutgoingHeaders;
  readonly chunks: AsyncIterable<Uint8Array>;
}

export function forward(request: ApiRequest, target: Target): Promise<Result<Forwarded>> {
  return new Promise((resolve) => {
    const { secure, host, port, path, tls } = target;
    const { signal } = request;
    const outgoing = (secure ? requestHttps : requestHttp)({
      method: request.method,
      host,
      port,
      path,
      headers: forwardedHeaders(request),
      signal,
      ...(secure ? { ...tls, rejectUnauthorized: tls?.verify ?? false } : {}),
    });
    limitConnecting(outgoing);
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      resolve(failure(serviceUnavailableStatus(`error trying to reach service: ${error.message}`)));
    });
    outgoing.on("response", (response) => {
      resolve(
        success({
          code: response.statusCode ?? 502,
          headers: answeredHeaders(response),
          chunks: response,
        }),
      );
    });
    sendBody(request, outgoing);
  });
}

/** A target that cannot be reached is found out soon; one that answers slowly is its own affair. */
function limitConnecting(outgoing: ReturnType<typeof requestHttp>): void {
  let connected = false;
  outgoing.on("socket", (socket) => {
    socket.setTimeout(CONNECT_TIMEOUT_MS);
    socket.once("connect", () => {
      connected = true;
      socket.setTimeout(0);
    });
    socket.once("timeout", () => {
      if (!connected) outgoing.destroy(new Error("i/o timeout"));
    });
  });
}

function sendBody({ body }: ApiRequest, outgoing: ReturnType<typeof requestHttp>): void {
  if (body.form === "stream") {
    body.stream.pipe(outgoing);
    return;
  }
  if (body.form === "bytes") outgoing.end(body.bytes);
  else outgoing.end();
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

const OURS: ReadonlySet<string> = new Set(["authorization", "host"]);

/** What another server may know of the request. */
export function forwardedHeaders({ headers, peer }: ApiRequest): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name.startsWith(":")) continue;
    if (HOP_BY_HOP.has(name) || OURS.has(name) || name.startsWith("impersonate-")) continue;
    all[name] = value;
  }
  const before = headers["x-forwarded-for"];
  all["x-forwarded-for"] = before === undefined ? peer.address : `${before}, ${peer.address}`;
  return all;
}

function answeredHeaders({ headers }: IncomingMessage): OutgoingHeaders {
  const all: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name)) all[name] = value;
  }
  return all;
}

export function upgradeRequired(): Result<never> {
  return failure(badRequestStatus("Upgrade request required"));
}
