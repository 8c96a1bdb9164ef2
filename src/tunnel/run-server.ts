/**
 * A Konnectivity server: agents connect to it over gRPC, and API servers ask it for connections, over
 * gRPC or with HTTP CONNECT, on TCP or a unix socket.
 */
import { rmSync } from "node:fs";
import { createServer, type Server as HttpServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  status,
} from "@grpc/grpc-js";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
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
  | { readonly path: string };

export interface TunnelServerOptions {
  readonly server: TunnelServer;
  readonly id: string;
  /** Of all servers behind the address that agents connect to. */
  readonly count: number;
  readonly agents: Place;
  readonly frontends: { readonly mode: "grpc" | "http-connect"; readonly at: Place };
  /** Throws unless the token is an agent's; agents need none without it. */
  authenticate?(token: string): Promise<void>;
  readonly logger: Logger;
}

type Call = ServerDuplexStream<ReadPacket, Packet>;

const GRPC_OPTIONS = {
  "grpc.max_receive_message_length": 16 * 1024 * 1024,
  "grpc.max_concurrent_streams": 10_000,
};

/** Answers the ports of agents and frontends (0 for a socket); ends with the signal. */
export async function runTunnelServer(
  options: TunnelServerOptions,
  signal: AbortSignal,
): Promise<{ readonly agentPort: number; readonly frontendPort: number }> {
  const agentServer = new Server(GRPC_OPTIONS);
  agentServer.addService(
    { connect: { path: AGENT_PATH, ...packetMethod } },
    { connect: (call: Call) => void serveAgent(call, options) },
  );
  const agentPort = await bind(agentServer, options.agents, signal);
  const { mode, at } = options.frontends;
  if (mode === "http-connect") {
    return { agentPort, frontendPort: await listenConnect(options, at, signal) };
  }
  const frontendServer = new Server(GRPC_OPTIONS);
  frontendServer.addService(
    { proxy: { path: PROXY_PATH, ...packetMethod } },
    { proxy: (call: Call) => serveProxyStream(options.server, call) },
  );
  return { agentPort, frontendPort: await bind(frontendServer, at, signal) };
}

async function serveAgent(call: Call, options: TunnelServerOptions): Promise<void> {
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

function bind(server: Server, place: Place, signal: AbortSignal): Promise<number> {
  onAbort(signal, () => server.forceShutdown());
  if ("path" in place) rmSync(place.path, { force: true });
  const target = "path" in place ? `unix:${place.path}` : `${bracketed(place.host)}:${place.port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(target, credentialsOf(place), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

function credentialsOf(place: Place): ServerCredentials {
  if ("path" in place || place.tls === undefined) return ServerCredentials.createInsecure();
  const { cert, key, ca } = place.tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const authorities = ca === undefined ? null : Buffer.from(ca);
  return ServerCredentials.createSsl(authorities, [pair], ca !== undefined);
}

async function listenConnect(
  { server }: TunnelServerOptions,
  place: Place,
  signal: AbortSignal,
): Promise<number> {
  const http = httpServerOf(place);
  const open = new Set<Duplex>();
  http.on("connect", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    serveConnect(server, request.url ?? "", socket, head);
  });
  http.on("request", (_request, reply) => {
    reply.writeHead(405, { "content-type": "text/plain; charset=utf-8" });
    reply.end("this proxy only supports CONNECT passthrough\n");
  });
  if ("path" in place) rmSync(place.path, { force: true });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    if ("path" in place) http.listen(place.path, resolve);
    else http.listen(place.port, place.host, resolve);
  });
  onAbort(signal, () => {
    http.close();
    http.closeAllConnections();
    for (const socket of open) socket.destroy();
  });
  return "path" in place ? 0 : (http.address() as AddressInfo).port;
}

function httpServerOf(place: Place): HttpServer {
  if ("path" in place || place.tls === undefined) return createServer();
  const { cert, key, ca } = place.tls;
  const needed = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  return createTlsServer({ cert, key, ...needed });
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
