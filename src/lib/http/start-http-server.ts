/**
 * The HTTP/1.1 server that every component but the API server has: kubelets, metrics and health pages,
 * the dashboard, sockets of commands. The API server also speaks HTTP/2 (src/apiserver/http).
 *
 * Promises:
 * 1. Connections, headers and waiting times are bounded (limit-server.ts).
 * 2. With TLS it is version 1.2 at least, without renegotiation, and a handshake takes 10 seconds at most.
 * 3. When the signal aborts, it stops listening and ends all connections: upgraded ones, and those that
 *    have not finished their handshake, too.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import { onAbort } from "#lib/async/aborted.ts";
import { limitServer, type ServerLimits } from "./limit-server.ts";
import { withoutRenegotiation } from "./without-renegotiation.ts";

const HANDSHAKE_WITHIN_MS = 10_000;

export interface HttpServerOptions {
  readonly at: ListenAddress;
  readonly tls?: ServerTls | undefined;
  /** Those of a status page unless given. */
  readonly limits?: Partial<ServerLimits>;
  request(message: IncomingMessage, reply: ServerResponse): void;
  /** The handler owns the socket. Without it, a request for an upgrade is an ordinary request. */
  upgrade?(message: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** The method CONNECT; the handler owns the socket. */
  connect?(message: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** A connection that is not accepted is ended before anything is read. */
  accepts?(socket: Socket): boolean;
  tlsFailed?(): void;
}

/** TCP (port 0: any free port) or a unix socket. */
export type ListenAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

export interface ServerTls extends SecureContextOptions {
  /** Whether clients are asked for a certificate, and whether they need one that is trusted. */
  readonly clientCertificates?: "ignored" | "optional" | "required";
}

export interface RunningHttpServer {
  /** 0 for a unix socket. */
  readonly port: number;
  /** Resolves after the signal aborted, when all connections have ended. */
  readonly closed: Promise<void>;
  /** New connections are made with these certificates. */
  renew(tls: SecureContextOptions): void;
}

/** Resolves when it listens. */
export async function startHttpServer(
  options: HttpServerOptions,
  signal: AbortSignal,
): Promise<RunningHttpServer> {
  const { at, tls, accepts } = options;
  const secured = tls === undefined ? undefined : createTlsServer(tlsOptions(tls));
  const server: Server = limitServer(secured ?? createServer(), options.limits);
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    if (accepts?.(socket) === false) {
      socket.destroy();
      return;
    }
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  server.on("request", (message, reply) => options.request(message, reply));
  const { upgrade, connect, tlsFailed } = options;
  if (upgrade !== undefined) server.on("upgrade", upgrade);
  if (connect !== undefined) server.on("connect", connect);
  if (tlsFailed !== undefined) server.on("tlsClientError", tlsFailed);
  await listen(server, at);
  const closed = new Promise<void>((resolve) => {
    onAbort(signal, () => {
      server.close(() => resolve());
      for (const socket of connections) socket.destroy();
    });
  });
  return {
    port: "path" in at ? 0 : (server.address() as AddressInfo).port,
    closed,
    renew: (context) => secured?.setSecureContext(contextOf(context)),
  };
}

function listen(server: Server, at: ListenAddress): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function tlsOptions({ clientCertificates = "ignored", ...context }: ServerTls) {
  return {
    ...contextOf(context),
    requestCert: clientCertificates !== "ignored",
    rejectUnauthorized: clientCertificates === "required",
    handshakeTimeout: HANDSHAKE_WITHIN_MS,
  };
}

function contextOf(context: SecureContextOptions) {
  return withoutRenegotiation({ minVersion: "TLSv1.2" as const, ...context });
}
