/**
 * Serves DNS over TCP: several queries on a connection, answered as they are ready.
 *
 * Limits: connections, queries on a connection, queries of a connection that are being answered (it is
 * not read from meanwhile), idle time, and bytes that a client does not take.
 */
import { createServer, isIPv6, type Socket } from "node:net";
import { onAbort } from "#lib/async/aborted.ts";
import { frame, TcpFrames } from "../wire/tcp-frames.ts";
import type { Origin, Responder } from "./responder.ts";
import type { ServerAddress } from "./udp-server.ts";

const CONNECTIONS_MAX = 500;
const QUERIES_MAX = 128;
const PENDING_MAX = 16;
const IDLE_MS = 10_000;
const UNSENT_BYTES_MAX = 256 * 1024;

/** Resolves with the port when it listens; ends with the signal. */
export function startTcpServer(
  { address, port, isAllowed }: ServerAddress,
  responder: Responder,
  signal: AbortSignal,
): Promise<number> {
  const connections = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    if (isAllowed?.(socket.remoteAddress ?? "") === false) {
      socket.destroy();
      return;
    }
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    serve(socket, responder, signal);
  });
  server.maxConnections = CONNECTIONS_MAX;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: address, ipv6Only: isIPv6(address) }, () => {
      server.removeListener("error", reject);
      server.on("error", () => undefined);
      onAbort(signal, () => {
        server.close();
        for (const socket of connections) socket.destroy();
      });
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}

function serve(socket: Socket, responder: Responder, signal: AbortSignal): void {
  const origin: Origin = {
    carrier: "tcp",
    family: isIPv6(socket.localAddress ?? "") ? "2" : "1",
    client: socket.remoteAddress ?? "",
  };
  const frames = new TcpFrames();
  let queries = 0;
  let pending = 0;
  const send = (answer: Buffer | undefined): void => {
    pending -= 1;
    if (answer !== undefined && !socket.destroyed) socket.write(frame(answer));
    if (socket.writableLength > UNSENT_BYTES_MAX) socket.destroy();
    else if (queries >= QUERIES_MAX && pending === 0) socket.end();
    else if (pending < PENDING_MAX) socket.resume();
  };
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes) => {
    for (const packet of frames.push(bytes)) {
      queries += 1;
      if (queries > QUERIES_MAX) return;
      pending += 1;
      if (pending >= PENDING_MAX) socket.pause();
      const answer = responder.respond(packet, origin, signal);
      if (answer instanceof Promise) void answer.then(send, () => socket.destroy());
      else send(answer);
    }
  });
}
