/**
 * A connection that changes its protocol (WebSocket, SPDY) and from then on carries whatever both
 * ends like: the request is handed on as it is, then the two sockets are joined.
 */
import { connect as connectTcp, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { connect as connectTls } from "node:tls";
import type { Target } from "./target.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface TunnelRequest {
  readonly method: string;
  /** Names and values in turn, those that belong to the upgrade included. */
  readonly headers: readonly (readonly [string, string])[];
  readonly target: Target;
}

/** Joins the client with the target; resolves when both have ended. */
export async function joinTunnel(
  { method, headers, target }: TunnelRequest,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const backend = await dial(target);
  backend.on("error", () => client.destroy());
  client.on("error", () => backend.destroy());
  const lines = [
    `${method} ${target.path} HTTP/1.1`,
    `Host: ${target.host}:${target.port}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  backend.write(`${lines.join("\r\n")}\r\n\r\n`);
  if (head.length > 0) backend.write(head);
  // Whatever the target says, its agreement or its refusal, is the client's answer.
  await Promise.allSettled([pipeline(backend, client), pipeline(client, backend)]);
  backend.destroy();
  client.destroy();
}

function dial({ secure, host, port, tls }: Target): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = secure
      ? connectTls({
          host,
          port,
          ALPNProtocols: ["http/1.1"],
          ...tls,
          rejectUnauthorized: tls?.verify ?? false,
        })
      : connectTcp({ host, port });
    socket.setNoDelay(true);
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error("i/o timeout")));
    socket.once("error", reject);
    socket.once(secure ? "secureConnect" : "connect", () => {
      socket.setTimeout(0);
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
