/**
 * A Konnectivity server: agents connect to it over gRPC, and API servers ask it for connections, over
 * gRPC or with HTTP CONNECT, on TCP or a unix socket.
 */
import { rmSync } from "node:fs";
import type * as library from "@grpc/grpc-js";
import type { ServerDuplexStream } from "@grpc/grpc-js";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import { type ServerTls, startHttpServer } from "#lib/http/start-http-server.ts";
import type { Logger } from "#lib/logger.ts";
import { parseAgentIdentifiers } from "./agent-identifiers.ts";
import { AGENT_PATH, type Packet, PROXY_PATH, packetMethod, type ReadPacket } from "./packet.ts";
import { PacketStream } from "./packet-stream.ts";
import { serveConnect, serveProxyStream } from "./serve-frontends.ts";
import type { TunnelServer } from "./tunnel-server.ts";

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** PEM of the authorities whose clients may connect; without it all clients may. */
  readonly ca?: string | undefined;
}

export type Place =
  | { readonly host: string; readonly port: number; readonly tls?: TlsFiles | undefined }
  /** A unix socket; a file that is there is replaced unless it is to be kept. */
  | { readonly path: string; readonly keepsExisting?: boolean };

export interface TunnelServerOptions {
  readonly server: TunnelServer;
  readonly id: string;
  /** Of all servers behind the address that agents connect to. */
  readonly count: number;
  readonly agents: Place;
  readonly frontends: { readonly mode: "grpc" | "http-connect"; readonly at: Place };
  /** How often an idle connection of agents, or of API servers with gRPC, is checked. */
  readonly keepaliveMs?: { readonly agents: number; readonly frontends: number };
  /** Throws unless the token is an agent's; agents need none without it. */
  authenticate?(token: string): Promise<void>;
  readonly logger: Logger;
}

type Call = ServerDuplexStream<ReadPacket, Packet>;
type Grpc = Pick<
  typeof import("#lib/grpc/grpc-library.ts"),
  "Metadata" | "Server" | "ServerCredentials" | "status"
>;

const KEEPALIVE_MS = { agents: 30_000, frontends: 30_000 };

function grpcServer({ Server: NewServer }: Grpc, keepaliveMs: number): library.Server {
  return new NewServer({
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
    "grpc.max_concurrent_streams": 10_000,
    "grpc.keepalive_time_ms": keepaliveMs,
  });
}

/** Each connection of an API server is one connection to a node. */
const CONNECT_LIMITS = { connectionsMax: 10_000, headersWithinMs: 30_000, requestWithinMs: 30_000 };

/** Answers the ports of agents and frontends (0 for a socket); ends with the signal. */
export async function runTunnelServer(
  options: TunnelServerOptions,
  signal: AbortSignal,
): Promise<{ readonly agentPort: number; readonly frontendPort: number }> {
  const { keepaliveMs = KEEPALIVE_MS } = options;
  const { Metadata, Server, ServerCredentials, status } = await import("#lib/grpc/grpc-library.ts");
  const grpc: Grpc = { Metadata, Server, ServerCredentials, status };
  const agentServer = grpcServer(grpc, keepaliveMs.agents);
  agentServer.addService(
    { connect: { path: AGENT_PATH, ...packetMethod } },
    { connect: (call: Call) => void serveAgent(grpc, call, options) },
  );
  const agentPort = await bind(grpc, agentServer, options.agents, signal);
  const { mode, at } = options.frontends;
  if (mode === "http-connect") {
    return { agentPort, frontendPort: await listenConnect(options, at, signal) };
  }
  const frontendServer = grpcServer(grpc, keepaliveMs.frontends);
  frontendServer.addService(
    { proxy: { path: PROXY_PATH, ...packetMethod } },
    { proxy: (call: Call) => serveProxyStream(options.server, call) },
  );
  return { agentPort, frontendPort: await bind(grpc, frontendServer, at, signal) };
}

async function serveAgent(
  { Metadata, status }: Grpc,
  call: Call,
  options: TunnelServerOptions,
): Promise<void> {
  const { server, id, count, authenticate, logger } = options;
  const text = (name: string): string => String(call.metadata.get(name)[0] ?? "");
  const agentId = text("agentid");
  const refuse = (code: number, details: string): void => {
    logger.warn("an agent is refused", { agent: agentId, why: details });
    call.emit("error", { code, details });
  };
  if (agentId === "") {
    refuse(status.INVALID_ARGUMENT, "missing agent ID in the metadata");
    return;
  }
  if (authenticate !== undefined) {
    try {
      await authenticate(
        text("authorization")
          .replace(/^Bearer /, "")
          .trim(),
      );
    } catch (error) {
      refuse(status.UNAUTHENTICATED, messageOf(error));
      return;
    }
  }
  const answer = new Metadata();
  answer.set("serverID", id);
  answer.set("serverCount", String(count));
  call.sendMetadata(answer);
  const info = { id: agentId, identifiers: parseAgentIdentifiers(text("agentidentifiers")) };
  logger.info("an agent has connected", { agent: agentId });
  await server.serveAgent(info, new PacketStream(call));
  logger.info("an agent has gone", { agent: agentId });
  call.end();
}

function bind(
  grpc: Grpc,
  server: library.Server,
  place: Place,
  signal: AbortSignal,
): Promise<number> {
  onAbort(signal, () => server.forceShutdown());
  makeRoom(place);
  const target = "path" in place ? `unix:${place.path}` : `${bracketed(place.host)}:${place.port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentialsOf(grpc, place), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

function makeRoom(place: Place): void {
  if ("path" in place && place.keepsExisting !== true) rmSync(place.path, { force: true });
}

function credentialsOf({ ServerCredentials: made }: Grpc, place: Place): library.ServerCredentials {
  if ("path" in place || place.tls === undefined) return made.createInsecure();
  const { cert, key, ca } = place.tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const authorities = ca === undefined ? null : Buffer.from(ca);
  return made.createSsl(authorities, [pair], ca !== undefined);
}

async function listenConnect(
  { server }: TunnelServerOptions,
  place: Place,
  signal: AbortSignal,
): Promise<number> {
  makeRoom(place);
  const listening = await startHttpServer(
    {
      at: "path" in place ? { path: place.path } : { host: place.host, port: place.port },
      tls: "path" in place || place.tls === undefined ? undefined : tlsOf(place.tls),
      limits: CONNECT_LIMITS,
      connect: ({ url = "" }, socket, head) => serveConnect(server, url, socket, head),
      request: (_request, reply) => {
        reply.writeHead(405, { "content-type": "text/plain; charset=utf-8" });
        reply.end("this proxy only supports CONNECT passthrough\n");
      },
    },
    signal,
  );
  return listening.port;
}

function tlsOf({ cert, key, ca }: TlsFiles): ServerTls {
  return ca === undefined ? { cert, key } : { cert, key, ca, clientCertificates: "required" };
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
