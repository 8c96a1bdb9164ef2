/**
 * The server's side of a WebSocket handshake (RFC 6455), done by the library `ws`, which is loaded
 * with the first WebSocket.
 *
 * Promises:
 * 1. Frames that a client did not mask are refused with close code 1002, messages longer than
 *    `MESSAGE_BYTES_MAX` with 1009, text that is not UTF-8 with 1007.
 * 2. Pings are answered.
 * 3. Compression is not offered: a few bytes from a client never become many.
 */
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketConnection } from "./connection.ts";

export interface UpgradeHead {
  readonly socket: Duplex;
  /** Bytes that were read after the request. */
  readonly head: Buffer;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Answers 101 with this subprotocol, if there is one. Undefined if the request is not a valid
 * handshake, which is answered with 400, or if the client is gone.
 */
export async function acceptWebSocket(
  { socket, head, headers }: UpgradeHead,
  protocol: string | undefined,
): Promise<WebSocketConnection | undefined> {
  socket.on("error", () => socket.destroy());
  const { WebSocketServer } = await import("ws");
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MESSAGE_BYTES_MAX,
  });
  // Kubernetes has subprotocols that are not tokens (SPDY/3.1+portforward.k8s.io), which `ws` would
  // refuse; the caller has chosen one.
  const { "sec-websocket-protocol": _, ...others } = headers;
  server.on("headers", (lines) => {
    if (protocol !== undefined) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  return await new Promise((resolve) => {
    server.on("wsClientError", () => {
      socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      resolve(undefined);
    });
    socket.once("close", () => resolve(undefined));
    // `ws` reads nothing else of the request.
    const request = Object.assign(new IncomingMessage(new Socket()), {
      method: "GET",
      headers: others,
    });
    server.handleUpgrade(request, socket, head, (ws) => resolve(new WebSocketConnection(ws)));
    if (socket.destroyed) resolve(undefined);
  });
}
