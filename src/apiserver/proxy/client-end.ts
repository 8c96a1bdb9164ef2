/** The client's side of a connection that changes its protocol. */
import type { Duplex } from "node:stream";
import { acceptKey } from "#lib/websocket/connection.ts";

export interface ClientEnd {
  readonly socket: Duplex;
  /** What was read beyond the request already. */
  readonly head: Buffer;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** Agrees to speak WebSocket, with this subprotocol if there is one. */
export function acceptWebSocket(
  { socket, headers }: ClientEnd,
  protocol: string | undefined,
): void {
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${acceptKey(headers["sec-websocket-key"] ?? "")}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
}

/** The subprotocols that the client would speak. */
export function askedProtocols(headers: ClientEnd["headers"]): string[] {
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
}

export function isWebSocket(headers: ClientEnd["headers"]): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}
