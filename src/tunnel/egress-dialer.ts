/**
 * Opens connections through a Konnectivity server, as an API server does: with HTTP CONNECT, or with
 * packets over gRPC, each over TCP, with or without TLS, or a unix socket.
 */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { Client } from "@grpc/grpc-js";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type ClientTls, channelCredentials } from "./channel-credentials.ts";
import { openTunnelSocket } from "./tunnel-socket.ts";

/** Rejects, saying why, if the server or the address cannot be reached. */
export type EgressDialer = (host: string, port: number, signal?: AbortSignal) => Promise<Duplex>;

export type EgressServer = { readonly protocol: "HTTPConnect" | "GRPC" } & (
  | { readonly path: string }
  | {
      readonly host: string;
      readonly port: number;
      /** Read for each connection; without it the connection is not encrypted. */
      tls?(): ClientTls;
    }
);

const HEAD_BYTES_MAX = 64 * 1024;
/** An agent that does not answer must not hold a request for ever. */
const DIAL_TIMEOUT_MS = 30_000;

export function createEgressDialer(
  server: EgressServer,
  clock: Clock,
  random: Random,
): EgressDialer {
  const dial = dialerOf(server, random);
  return async (host, port, signal) => {
    const late = new AbortController();
    const timeout = clock.schedule(DIAL_TIMEOUT_MS, () =>
      late.abort(new Error("dial timeout, backstop")),
    );
    const ends = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    try {
      return await dial(host, port, ends);
    } finally {
      timeout.cancel();
    }
  };
}

type Dial = (host: string, port: number, signal: AbortSignal) => Promise<Duplex>;

function dialerOf(server: EgressServer, random: Random): Dial {
  if (server.protocol === "GRPC") {
    const clientOf = grpcClients(server);
    return async (host, port, signal) =>
      await openTunnelSocket(await clientOf(), addressOf(host, port), dialIdOf(random), signal);
  }
  return async (host, port, signal) => {
    const socket = openSocket(server);
    const abort = (): void => void socket.destroy(new Error(messageOf(signal.reason)));
    onAbort(signal, abort);
    try {
      await throughConnect(socket, addressOf(host, port), shownOf(server));
      return socket;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  };
}

/** Upstream's server keeps the dials of all its clients apart by these numbers of 62 bits. */
function dialIdOf(random: Random): bigint {
  const bits = (): bigint => BigInt(random.integer(2 ** 31));
  return (bits() << 31n) | bits();
}

function openSocket(server: EgressServer): Socket {
  if ("path" in server) return connectPlain({ path: server.path });
  const { host, port } = server;
  const tls = server.tls?.();
  if (tls === undefined) return connectPlain({ host, port, noDelay: true });
  const { ca, cert, key, serverName = host } = tls;
  const named = isIP(serverName) > 0 ? {} : { servername: serverName };
  const given = Object.entries({ ca, cert, key }).filter(([, pem]) => pem !== undefined);
  return connectTls({ host, port, ...Object.fromEntries(given), ...named });
}

/** One channel is shared by all connections until the files of its TLS have changed. */
function grpcClients(server: EgressServer): () => Promise<Client> {
  let made: { readonly client: Promise<Client>; readonly by: string } | undefined;
  return () => {
    const tls = "path" in server ? undefined : server.tls?.();
    const by = JSON.stringify(tls);
    if (made !== undefined && made.by === by) return made.client;
    made = { client: grpcClient(server, tls), by };
    return made.client;
  };
}

async function grpcClient(server: EgressServer, tls: ClientTls | undefined): Promise<Client> {
  const { Client, credentials } = await import("#lib/grpc/grpc-library.ts");
  const target = "path" in server ? `unix:${server.path}` : addressOf(server.host, server.port);
  const { credentials: how, options } =
    tls === undefined || "path" in server
      ? { credentials: credentials.createInsecure(), options: {} }
      : await channelCredentials(server.host, tls);
  return new Client(target, how, {
    ...("path" in server ? { "grpc.default_authority": "localhost" } : {}),
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    ...options,
  });
}

/** Resolves when the proxy has answered that the connection is there. */
function throughConnect(socket: Socket, address: string, proxy: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const fail = (why: string): void => {
      socket.destroy();
      reject(new Error(why));
    };
    const broken = (error?: Error): void =>
      fail(
        `reading HTTP response from CONNECT to ${address} via proxy ${proxy} failed: ${error?.message ?? "EOF"}`,
      );
    // Not "data": the next reader decides itself when the stream flows.
    const read = (): void => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
        head = Buffer.concat([head, chunk]);
      }
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) {
        if (head.length > HEAD_BYTES_MAX) fail(`the answer of the proxy ${proxy} is too long`);
        return;
      }
      const [line = ""] = head.toString("latin1", 0, end).split("\r\n");
      const [, code = "0", reason = ""] = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(line) ?? [];
      if (code !== "200") {
        const status = `${code} ${reason}`;
        fail(`proxy error from ${proxy} while dialing ${address}, code ${code}: ${status}`);
        return;
      }
      socket.off("readable", read).off("error", broken).off("close", broken);
      const rest = head.subarray(end + 4);
      if (rest.length > 0) socket.unshift(rest);
      resolve();
    };
    socket.on("readable", read);
    socket.on("error", broken);
    socket.on("close", broken);
    socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  });
}

function addressOf(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function shownOf(server: EgressServer): string {
  return "path" in server ? server.path : `${server.host}:${server.port}`;
}
