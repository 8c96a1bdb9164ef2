/** The client's side of a connection that changes its protocol. */
import type { Duplex } from "node:stream";

export interface ClientConnection {
  readonly socket: Duplex;
  /** What was read beyond the request already. */
  readonly head: Buffer;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** The subprotocols that the client would speak. */
export function askedProtocols(headers: ClientConnection["headers"]): string[] {
  return (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
}

export function isWebSocket(headers: ClientConnection["headers"]): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}
