/**
 * The kubelet's HTTPS server on port 10250.
 *
 * Promises:
 * 1. Every request, upgrades too, is authenticated and authorized first (access/).
 * 2. Connections, headers and waiting times are bounded; a client that reads slowly holds one block.
 * 3. When the signal aborts, it stops listening and ends its connections.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { messageOf } from "#lib/caught.ts";
import { startHttpServer } from "#lib/http/start-http-server.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { verifiedSubject } from "#pki/verified-subject.ts";
import type { Access, Credentials } from "./access/access.ts";
import { type KubeletAnswer, textAnswer } from "./answer.ts";
import { sendChunks } from "./chunked-body.ts";
import type { KubeletView } from "./kubelet-view.ts";
import { answerRoute } from "./routes.ts";
import { joinRuntime, refuse } from "./streams/join-runtime.ts";
import { streamUrl } from "./streams/stream-url.ts";

const LIMITS = {
  connectionsMax: 2_000,
  headersWithinMs: 30_000,
  requestWithinMs: 300_000,
  idleMs: 90_000, // longer than the time between two scrapes of a metrics server
};
const STREAMS: ReadonlySet<string> = new Set(["exec", "attach", "portForward"]);

export interface KubeletServerOptions {
  readonly address: string;
  readonly port: number;
  /** PEM. Undefined: connections fail until `renew` brings one. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly tlsLimits: TlsLimits;
  /** PEM of the authorities whose client certificates are believed. */
  readonly clientCa: string | undefined;
  readonly access: Access;
  readonly view: KubeletView;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** In the words of Node's TLS. */
export type TlsLimits = Pick<SecureContextOptions, "minVersion" | "ciphers">;

export interface KubeletServer {
  readonly port: number;
  readonly closed: Promise<void>;
  /** Serves new connections with another certificate. */
  renew(tls: { readonly cert: string; readonly key: string }): void;
}

export async function startKubeletServer(
  options: KubeletServerOptions,
  signal: AbortSignal,
): Promise<KubeletServer> {
  const { address, port, tls, tlsLimits, clientCa } = options;
  let hasCertificate = tls !== undefined;
  const context = { ...tlsLimits, ...(clientCa === undefined ? {} : { ca: clientCa }) };
  const tlsFailed = (): void => {
    if (hasCertificate) return;
    const why = "no serving certificate available for the kubelet";
    options.logger.warn("http: TLS handshake error", { why });
  };
  const server = await startHttpServer(
    {
      at: { host: address, port },
      // Other ways to authenticate remain for clients without a certificate.
      tls: {
        ...tls,
        ...context,
        clientCertificates: clientCa === undefined ? "ignored" : "optional",
      },
      limits: LIMITS,
      tlsFailed,
      request: (message, reply) => void answer(options, message, reply),
      upgrade: (message, socket, head) => void upgrade(options, message, socket, head),
    },
    signal,
  );
  return {
    port: server.port,
    closed: server.closed,
    renew: (pair) => {
      hasCertificate = true;
      server.renew({ ...pair, ...context });
    },
  };
}

async function answer(
  { access, view, clock, logger }: KubeletServerOptions,
  message: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  reply.on("close", () => gone.abort());
  const { method = "GET", path, query } = targetOf(message);
  try {
    const decision = await access.decide(credentialsOf(message), method, path);
    if (!decision.allowed)
      return await sendAnswer(reply, textAnswer(decision.code, decision.message));
    const request = { method, path, query, clock, signal: gone.signal };
    await sendAnswer(reply, await answerRoute(view, request));
  } catch (error) {
    if (gone.signal.aborted) return;
    logger.warn("kubelet server: request failed", { path, error });
    if (reply.headersSent) reply.destroy();
    else await sendAnswer(reply, textAnswer(500, messageOf(error)));
  }
}

export async function sendAnswer(reply: ServerResponse, body: KubeletAnswer): Promise<void> {
  if (body.form === "text") {
    const { code, text, type = "text/plain; charset=utf-8" } = body;
    reply.writeHead(code, { "content-type": type, "content-length": Buffer.byteLength(text) });
    reply.end(text);
    return;
  }
  reply.writeHead(200, { "content-type": "text/plain" });
  await sendChunks(reply, body.chunks);
}

async function upgrade(
  { access, view, logger }: KubeletServerOptions,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  socket.on("error", () => socket.destroy());
  const { method = "GET", path, query } = targetOf(message);
  try {
    const decision = await access.decide(credentialsOf(message), method, path);
    if (!decision.allowed) return refuse(socket, decision.code, decision.message);
    const [action = "", ...parts] = path.split("/").filter((part) => part !== "");
    if (view.allowDebugging === false) {
      return refuse(socket, 405, "Debug endpoints are disabled.\n");
    }
    if (!STREAMS.has(action)) return refuse(socket, 404, "404: Page Not Found");
    const found = await streamUrl(view, action, parts.map(decodeURIComponent), query);
    if (!found.ok) return refuse(socket, found.code, found.message);
    await joinRuntime(found.url, { message, socket, head });
  } catch (error) {
    logger.warn("kubelet server: stream failed", { path, error });
    refuse(socket, 500, messageOf(error));
  }
}

export function targetOf({ method, url = "/" }: IncomingMessage): {
  readonly method: string | undefined;
  readonly path: string;
  readonly query: URLSearchParams;
} {
  const at = url.indexOf("?");
  const path = at === -1 ? url : url.slice(0, at);
  return { method, path, query: new URLSearchParams(at === -1 ? "" : url.slice(at + 1)) };
}

export function credentialsOf({ socket, headers }: IncomingMessage): Credentials {
  return {
    certificate: verifiedSubject(socket as TLSSocket),
    authorizationHeader: headers.authorization,
  };
}
