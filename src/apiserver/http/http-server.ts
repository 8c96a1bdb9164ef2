/**
 * HTTPS with HTTP/1.1 and HTTP/2 on one port. Sockets become requests here; everything above knows
 * neither protocol.
 *
 * Closing lets running requests finish for a while, then ends every connection, also those that never
 * came to an agreement on TLS.
 *
 * TLS is terminated once, and each connection goes to the server of the protocol that was agreed on:
 * the stream interface of HTTP/2 costs a third less than the one that imitates HTTP/1.
 */
import { type AddressInfo, createServer, type Server, Socket } from "node:net";
import {
  createServer as createTls,
  type SecureContextOptions,
  type TLSSocket,
  type Server as TlsServer,
} from "node:tls";
import { Connections } from "#lib/http/connections.ts";
import { HandshakeQueue } from "#lib/http/handshake-queue.ts";
import { SMALL_HEADERS_BYTES_MAX } from "#lib/http/unauthenticated-connections.ts";
import { withoutRenegotiation } from "#lib/http/without-renegotiation.ts";
import { type Random, systemRandom } from "#lib/random.ts";
import type { ClientAuthorities } from "../authn/peer-certificate.ts";
import type { Peer } from "../request/request.ts";
import { ExchangeRunner, type ExchangeRunnerOptions } from "./exchange-runner.ts";
import { createHttp1Server } from "./http1-server.ts";
import { createHttp2Server } from "./http2-server.ts";
import { KnownPeers } from "./known-peers.ts";
import { type ChooseContext, contextChooser, type NamedCertificate } from "./named-certificates.ts";

/** A client whose handshake takes longer is disconnected. */
const HANDSHAKE_WITHIN_MS = 10_000;
/** A connection on which nothing is asked for so long is ended. */
const IDLE_MAX_MS = 90_000;

export interface HttpServerOptions extends ExchangeRunnerOptions {
  readonly tls: TlsOptions;
  readonly host: string;
  readonly port: number;
  /** Upstream's 90 seconds unless given. */
  readonly idleMaxMs?: number;
  /** Whether HTTP/2 is spoken too; it is unless given. */
  readonly http2?: boolean;
  /** Requests at a time on one of its connections; 0 is upstream's number. */
  readonly streamsMax?: number;
  /** How likely a request over HTTP/2 makes its client take another connection; 0 unless given. */
  readonly goawayChance?: number;
  readonly random?: Random;
  /** A connection came to no agreement on TLS. */
  handshakeFailed?(): void;
  /** A connection on which at least one request was sent has closed. */
  disconnected?(peer: Peer): void;
}

export interface TlsOptions {
  readonly context: SecureContextOptions & { readonly ca?: string | string[] };
  /** Who may have signed clients' certificates. */
  readonly authorities: ClientAuthorities;
  /** Certificates selected by SNI. */
  readonly named?: readonly NamedCertificate[];
}

export interface HttpServer {
  readonly port: number;
  /** Takes new certificates for new connections; authorities count for those that are open, too. */
  renew(tls: TlsOptions): void;
  /**
   * Prepares the end while everything is still served: answers over HTTP/1.1 say `Connection: close`, so
   * that no client has a connection in use when the server closes. HTTP/2 has GOAWAY for that.
   */
  drain(): void;
  /** Stops accepting; resolves when all connections have ended, after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>;
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { tls, clock, streamsMax, idleMaxMs = IDLE_MAX_MS } = options;
  const { goawayChance = 0, random = systemRandom } = options;
  const runner = new ExchangeRunner(options);
  const connections = new Connections();
  const peers = new KnownPeers({
    authorities: tls.authorities,
    handshakeMaxMs: HANDSHAKE_WITHIN_MS,
    elapsedMs: () => clock.elapsedMs(),
    ...(options.disconnected && { disconnected: (peer) => options.disconnected?.(peer) }),
  });
  const http1 = createHttp1Server({ clock, runner, peers, connections, idleMaxMs });
  const http1Small = createHttp1Server(
    { clock, runner, peers, connections, idleMaxMs },
    SMALL_HEADERS_BYTES_MAX,
  );
  const serveHttp2 = createHttp2Server({
    clock,
    runner,
    peers,
    connections,
    idleMaxMs,
    streamsMax,
    wantsGoaway: () => goawayChance > 0 && random.next() < goawayChance,
  });
  let choose = contextChooser(tls);
  const byName: ChooseContext = (host) => choose(host);
  const tlsServer = createTlsServer(options, byName, connections, (socket) => {
    peers.add(socket);
    if (peers.at(socket).certificate !== undefined) connections.authenticated(socket);
    if (socket.alpnProtocol === "h2") serveHttp2(socket);
    else if (connections.maySendLargeHeaders(socket)) http1.emit("connection", socket);
    else http1Small.emit("connection", socket);
  });
  const server = acceptConnections(options, connections, tlsServer);
  return {
    port: await listen(server, options),
    renew: (renewed) => {
      tlsServer.setSecureContext(withoutRenegotiation(renewed.context));
      choose = contextChooser(renewed);
      connections.retire(peers.renew(renewed.authorities, connections.sockets));
    },
    drain: () => connections.drain(),
    close: async (graceMs) => {
      http1.close();
      http1Small.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.close();
      const timer = clock.schedule(graceMs, () => connections.destroy());
      await closed;
      timer.cancel();
      runner.stop();
    },
  };
}

function createTlsServer(
  { tls, http2, logger, handshakeFailed }: HttpServerOptions,
  choose: ChooseContext,
  connections: Connections,
  serve: (socket: TLSSocket) => void,
): TlsServer {
  const server = createTls({
    minVersion: "TLSv1.2",
    ...withoutRenegotiation(tls.context),
    SNICallback: (host, done) => done(null, choose(host)),
    ALPNProtocols: http2 === false ? ["http/1.1"] : ["h2", "http/1.1"],
    allowHalfOpen: true,
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: HANDSHAKE_WITHIN_MS,
  });
  server.on("secureConnection", (socket) => {
    connections.add(socket, connectionBelow(socket));
    socket.on("error", () => undefined); // "close" follows, which the users of the socket handle
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 30_000);
    serve(socket);
  });
  server.on("tlsClientError", (error) => {
    logger.debug("TLS handshake failed", { error });
    handshakeFailed?.();
  });
  return server;
}

/** The connection below TLS; the types do not know it, node does. */
function connectionBelow(socket: TLSSocket): Socket {
  if ("_parent" in socket && socket._parent instanceof Socket) return socket._parent;
  throw new Error("a TLS connection without the TCP connection below it");
}

/** Listens below TLS, and hands connections over for their handshakes, a few at a time. */
function acceptConnections(
  { clock, handshakeFailed }: HttpServerOptions,
  connections: Connections,
  tlsServer: TlsServer,
): Server {
  const handshakes = new HandshakeQueue({
    clock,
    withinMs: HANDSHAKE_WITHIN_MS,
    begin: (transport) => tlsServer.emit("connection", transport),
    timedOut: () => handshakeFailed?.(),
  });
  return createServer({ allowHalfOpen: true }, (transport) => {
    connections.addTransport(transport);
    handshakes.add(transport);
  });
}

/** Resolves with the port, which is another than asked for if that was 0. */
async function listen(server: Server, { host, port }: HttpServerOptions): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}
