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
import type { AddressInfo } from "node:net";
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from "node:tls";
import type { ClientAuthorities } from "../authn/peer-certificate.ts";
import type { Peer } from "../request/request.ts";
import { Answerer, type AnswererOptions } from "./answerer.ts";
import { Connections } from "./connections.ts";
import { createHttp1Server } from "./http1-server.ts";
import { createHttp2Server } from "./http2-server.ts";
import { KnownPeers } from "./known-peers.ts";
import { type ChooseContext, contextChooser, type NamedCertificate } from "./named-certificates.ts";
import { withoutRenegotiation } from "./without-renegotiation.ts";

/** Who takes longer to say what they want is not served. */
const HANDSHAKE_WITHIN_MS = 10_000;
/** A connection on which nothing is asked for so long is ended. */
const IDLE_MAX_MS = 90_000;

export interface HttpServerOptions extends AnswererOptions {
  readonly tls: TlsOptions;
  readonly host: string;
  readonly port: number;
  /** Upstream's 90 seconds unless given. */
  readonly idleMaxMs?: number;
  /** Whether HTTP/2 is spoken too; it is unless given. */
  readonly http2?: boolean;
  /** Requests at a time on one of its connections; 0 is upstream's number. */
  readonly streamsMax?: number;
  /** A connection came to no agreement on TLS. */
  handshakeFailed?(): void;
  /** The connection of someone who had asked for something has ended. */
  disconnected?(peer: Peer): void;
}

export interface TlsOptions {
  readonly context: SecureContextOptions & { readonly ca?: string | string[] };
  /** Who may have signed clients' certificates. */
  readonly authorities: ClientAuthorities;
  /** Shown to those who ask for a host by one of their names. */
  readonly named?: readonly NamedCertificate[];
}

export interface HttpServer {
  readonly port: number;
  /** Takes new certificates for new connections; authorities count for those that are open, too. */
  renew(tls: TlsOptions): void;
  /** Stops accepting; resolves when all connections have ended, after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>;
}

export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { tls, clock, streamsMax, idleMaxMs = IDLE_MAX_MS } = options;
  const answerer = new Answerer(options);
  const connections = new Connections();
  const peers = new KnownPeers({
    authorities: tls.authorities,
    handshakeMaxMs: HANDSHAKE_WITHIN_MS,
    elapsedMs: () => clock.elapsedMs(),
    ...(options.disconnected && { disconnected: (peer) => options.disconnected?.(peer) }),
  });
  const http1 = createHttp1Server({ clock, answerer, peers, connections, idleMaxMs });
  const serveHttp2 = createHttp2Server({
    clock,
    answerer,
    peers,
    connections,
    idleMaxMs,
    streamsMax,
  });
  let choose = contextChooser(tls);
  const byName: ChooseContext = (host) => choose(host);
  const server = createTlsServer(options, byName, connections, (socket) => {
    peers.add(socket);
    if (socket.alpnProtocol === "h2") serveHttp2(socket);
    else http1.emit("connection", socket);
  });
  return {
    port: await listen(server, options),
    renew: (renewed) => {
      server.setSecureContext(withoutRenegotiation(renewed.context));
      choose = contextChooser(renewed);
      connections.retire(peers.renew(renewed.authorities, connections.sockets));
    },
    close: async (graceMs) => {
      http1.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.close();
      const timer = clock.schedule(graceMs, () => connections.destroy());
      await closed;
      timer.cancel();
      answerer.stop();
    },
  };
}

function createTlsServer(
  { tls, http2, logger, handshakeFailed }: HttpServerOptions,
  choose: ChooseContext,
  connections: Connections,
  serve: (socket: TLSSocket) => void,
): Server {
  const server = createServer({
    minVersion: "TLSv1.2",
    ...withoutRenegotiation(tls.context),
    SNICallback: (host, done) => done(null, choose(host)),
    ALPNProtocols: http2 === false ? ["http/1.1"] : ["h2", "http/1.1"],
    allowHalfOpen: true,
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: HANDSHAKE_WITHIN_MS,
  });
  server.on("connection", (transport) => connections.addTransport(transport));
  server.on("secureConnection", (socket) => {
    connections.add(socket);
    socket.on("error", () => undefined); // whoever uses it hears of its end by "close"
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
