/**
 * The data plane that needs nothing installed: HTTP/1.1, HTTP/2 and WebSocket on one port without TLS
 * (HTTP/2 by prior knowledge) and on one with it (by ALPN).
 *
 * Bounds: connections, requests at a time, 16 KiB of headers, 15 seconds for them, 75 seconds between
 * two requests of a connection, 100 streams for each HTTP/2 connection.
 */
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { onAbort } from "#lib/async/aborted.ts";
import type { CertificatePair } from "./certificates.ts";
import { RequestProxy, type RequestProxyOptions } from "./request-proxy.ts";
import { handleUpgrade } from "./upgrade-proxy.ts";

export interface DataPlaneOptions extends Omit<RequestProxyOptions, "publicPorts"> {
  readonly addresses: readonly string[];
  /** 0: any free port. */
  readonly httpPort: number;
  readonly httpsPort: number;
  /** The ports that clients see, if they are not those of the listeners. */
  readonly publicPorts?: { readonly http: number; readonly https: number };
  readonly defaultCertificate: CertificatePair;
  /** How long open requests may go on after the end. */
  readonly drainMs: number;
}

export interface RunningDataPlane {
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Drops connections to endpoints that are gone. */
  retain(isThere: (authority: string) => boolean): void;
  /** Takes over what the cluster says now; undefined if the data plane asks for it at each request. */
  update?(): Promise<void>;
  /** Adds requests that another program answered to the metrics; undefined if there is none. */
  count?(): Promise<void>;
  /** Resolves after the signal aborted and open requests ended, or their time was over. */
  readonly done: Promise<void>;
}

const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_TIMEOUT_MS = 15_000;
const IDLE_TIMEOUT_MS = 75_000;
const STREAMS_MAX = 100;
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2");

/** Resolves when it listens. */
export async function startDataPlane(
  options: DataPlaneOptions,
  signal: AbortSignal,
): Promise<RunningDataPlane> {
  const publicPorts = { http: options.httpPort, https: options.httpsPort, ...options.publicPorts };
  const proxy = new RequestProxy({ ...options, publicPorts });
  const protocols = createProtocols(options, proxy);
  const connections = new Set<Socket>();
  const track = (socket: Socket): void => {
    connections.add(socket);
    options.metrics.connections.set(connections.size);
    socket.once("close", () => {
      connections.delete(socket);
      options.metrics.connections.set(connections.size);
    });
    socket.on("error", () => socket.destroy());
    if (connections.size > options.limits.connectionsMax) socket.destroy();
  };
  const plain = (): Server =>
    createServer({ noDelay: true }, protocols.plain).on("connection", track);
  const secure = (): Server =>
    createTlsServer(
      {
        ALPNProtocols: ["h2", "http/1.1"],
        handshakeTimeout: HEADERS_TIMEOUT_MS,
        noDelay: true,
        SNICallback: (name, answer) => answer(null, options.state.certificate(name)),
        ...options.defaultCertificate, // for clients that name no server
        minVersion: "TLSv1.2",
      },
      protocols.secure,
    ).on("connection", track);
  const servers: Server[] = [];
  const listenAll = async (create: () => Server, wanted: number): Promise<number> => {
    let port = wanted;
    for (const address of options.addresses) {
      const server = create();
      servers.push(server);
      port = await listen(server, port, address);
    }
    return port;
  };
  try {
    const httpPort = await listenAll(plain, options.httpPort);
    const httpsPort = await listenAll(secure, options.httpsPort);
    if (options.publicPorts === undefined)
      Object.assign(publicPorts, { http: httpPort, https: httpsPort });
    const done = new Promise<void>((resolve) => {
      onAbort(
        signal,
        () => void drain(options, servers, protocols, connections, proxy).then(resolve),
      );
    });
    return { httpPort, httpsPort, retain: (isThere) => proxy.retain(isThere), done };
  } catch (error) {
    for (const server of servers) server.close();
    proxy[Symbol.dispose]();
    throw error;
  }
}

/** HTTP/1.1 and HTTP/2 for sockets that listeners hand over. */
interface Protocols {
  readonly http1: HttpServer;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  plain(socket: Socket): void;
  secure(socket: Socket & { readonly alpnProtocol: string | false | null }): void;
}

function createProtocols(options: DataPlaneOptions, proxy: RequestProxy): Protocols {
  const http1 = createHttpServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      // Long uploads are fine; bodies that stand still end with the read timeout of the route.
      requestTimeout: 0,
    },
    (request, response) => proxy.handle(request, response),
  );
  // It has no port of its own; this starts its check of the headers timeout.
  http1.emit("listening");
  http1.on("upgrade", (request, socket, head) =>
    handleUpgrade({ ...options, proxy }, request, socket, head),
  );
  const http2 = createHttp2Server(
    {
      settings: { maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: HEADER_BYTES_MAX },
      maxSessionInvalidFrames: 100,
    },
    (request, response) => proxy.handle(request, response),
  );
  const sessions = sessionsOf(http2);
  return {
    http1,
    sessions,
    plain: (socket) => {
      socket.setTimeout(HEADERS_TIMEOUT_MS, () => socket.destroy());
      socket.once("data", (first) => {
        socket.pause();
        socket.setTimeout(0);
        socket.removeAllListeners("timeout");
        socket.unshift(first);
        const isHttp2 = HTTP2_PREFACE.equals(first.subarray(0, HTTP2_PREFACE.length));
        // An HTTP/2 session takes what is buffered itself.
        if (isHttp2) http2.emit("connection", socket);
        else {
          http1.emit("connection", socket);
          socket.resume();
        }
      });
    },
    secure: (socket) => {
      socket.on("error", () => socket.destroy());
      (socket.alpnProtocol === "h2" ? http2 : http1).emit("connection", socket);
    },
  };
}

function sessionsOf(server: Http2Server): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    // Streams that are open are finished first.
    session.setTimeout(IDLE_TIMEOUT_MS, () => session.close());
    session.once("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
  });
  return sessions;
}

/** No new connections; those that are open finish their requests. */
async function drain(
  { clock, drainMs }: DataPlaneOptions,
  servers: readonly Server[],
  { http1, sessions }: Protocols,
  connections: ReadonlySet<Socket>,
  proxy: RequestProxy,
): Promise<void> {
  const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
  http1.close();
  http1.closeIdleConnections();
  for (const session of sessions) session.close();
  const over = new AbortController();
  const late = clock.sleep(drainMs, over.signal).then(
    () => {
      for (const socket of connections) socket.destroy();
    },
    () => undefined,
  );
  await Promise.all(closed);
  over.abort();
  await late;
  proxy[Symbol.dispose]();
}

function listen(server: Server, port: number, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
