/**
 * Makes a connection: TCP or a Unix socket, with or without TLS. With TLS the server has to agree to
 * HTTP/2 (ALPN). The connection is usable when the server has sent its settings.
 */
import { connect as connectTcp, isIP, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { Http2Connection } from "./http2-connection.ts";
import { type Http2Code, Http2Error } from "./http2-error.ts";
import type { KeepAliveTimes } from "./keep-alive.ts";

export interface TlsOptions {
  /** PEM. The system's authorities if none is given. */
  readonly ca?: Buffer | string;
  /** PEM, for servers that ask for a client certificate. */
  readonly cert?: Buffer | string;
  readonly key?: Buffer | string;
  /** The name that the certificate must have, if not the host's. */
  readonly serverName?: string;
  /** The server's certificate is not checked. */
  readonly insecure?: boolean;
  /** Also offers HTTP/1.1, so that a server without HTTP/2 answers with HTTP_1_1_REQUIRED. */
  readonly offersHttp1?: boolean;
}

export type Address =
  | { readonly host: string; readonly port: number }
  /** A Unix socket; a path that begins with a zero byte is an abstract one. */
  | { readonly path: string };

/** Makes a connection in another way than directly, such as through a tunnel. */
export type Dial = (host: string, port: number, signal?: AbortSignal) => Promise<Duplex>;

export interface ConnectOptions {
  readonly address: Address;
  /** For addresses that have a host; they are connected to directly without it. */
  readonly dial?: Dial | undefined;
  /** Without TLS unless given. */
  readonly tls?: TlsOptions | undefined;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  readonly keepAlive?: KeepAliveTimes | undefined;
  /** Ends the attempt, not the connection. */
  readonly signal: AbortSignal;
  /** The connection was usable and has ended. */
  onEnd(error: Http2Error): void;
}

/** Rejects with Http2Error. */
export async function connectHttp2(options: ConnectOptions): Promise<Http2Connection> {
  const { address, dial } = options;
  if (dial === undefined || !("host" in address)) return await connectOver(options);
  return await connectOver(options, await dialled(options, dial, address));
}

async function dialled(
  { clock, connectTimeoutMs, signal }: ConnectOptions,
  dial: Dial,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Duplex> {
  const late = new AbortController();
  const timer = clock.schedule(connectTimeoutMs, () => late.abort());
  const abort = (): void => late.abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await dial(host, port, late.signal);
  } catch (error) {
    throw new Http2Error("CONNECT_ERROR", messageOf(error), { notProcessed: true });
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", abort);
  }
}

/** `under`: a stream to the server; a connection is made without it. */
function connectOver(options: ConnectOptions, under?: Duplex): Promise<Http2Connection> {
  const { address, tls, clock, connectTimeoutMs, signal } = options;
  return new Promise((resolve, reject) => {
    const raw = under ?? connectTcp(address);
    const socket = tls === undefined ? raw : openTls(address, tls, raw);
    let isReady = false;
    const settle = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", abort);
    };
    const fail = (message: string, code: Http2Code = "CONNECT_ERROR"): void => {
      settle();
      socket.destroy();
      reject(new Http2Error(code, message, { notProcessed: true }));
    };
    const timer = clock.schedule(connectTimeoutMs, () => fail("the connection takes too long"));
    const abort = (): void => fail("the attempt was given up");
    signal.addEventListener("abort", abort, { once: true });
    const onError = (error: Error): void => fail(messageOf(error));
    socket.once("error", onError);
    const begin = (): void => {
      if (tls !== undefined && (socket as TLSSocket).alpnProtocol !== "h2") {
        fail("the server does not offer HTTP/2", "HTTP_1_1_REQUIRED");
        return;
      }
      if (socket instanceof Socket) socket.setNoDelay(true);
      const connection = new Http2Connection(socket, {
        ...options,
        isLocal: "path" in address,
        reset: () => {
          // A reset of the TCP connection discards what the kernel has not delivered.
          if (raw instanceof Socket && "host" in address) raw.resetAndDestroy();
          socket.destroy();
        },
        onReady: () => {
          isReady = true;
          settle();
          resolve(connection);
        },
        onEnd: (error) => (isReady ? options.onEnd(error) : fail(error.message)),
      });
      connection.start();
      socket.off("error", onError);
    };
    if (tls === undefined && under !== undefined) begin();
    else socket.once(tls === undefined ? "connect" : "secureConnect", begin);
  });
}

function openTls(address: Address, options: TlsOptions, under: Duplex): Socket {
  const { ca, cert, key, serverName, insecure = false, offersHttp1 = false } = options;
  // TLS does not allow an address where a name is expected. The certificate is checked against `host`.
  const name = "host" in address && isIP(address.host) === 0 ? address.host : "";
  const socket = connectTls({
    ...address,
    socket: under,
    servername: serverName ?? name,
    ALPNProtocols: offersHttp1 ? ["h2", "http/1.1"] : ["h2"],
    minVersion: "TLSv1.2",
    rejectUnauthorized: !insecure,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  });
  under.on("error", (error) => socket.destroy(error));
  return socket;
}
