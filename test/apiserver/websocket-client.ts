/** The client's side of a WebSocket on a socket whose handshake a test has done itself. */
import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import { WebSocketConnection } from "#lib/websocket/connection.ts";

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

/** `ws` has no public way to be given such a socket as a client: this is what its own client does. */
export function webSocketClient(socket: Duplex, rest: Buffer): WebSocketConnection {
  const Opened = WebSocket as unknown as new (
    address: null,
    protocols: undefined,
    options: object,
  ) => WebSocket & {
    _isServer: boolean;
    setSocket(socket: Duplex, head: Buffer, options: object): void;
  };
  const ws = new Opened(null, undefined, { autoPong: true, closeTimeout: 5_000 });
  ws._isServer = false;
  ws.setSocket(socket, rest, { allowSynchronousEvents: true, maxPayload: MESSAGE_BYTES_MAX });
  return new WebSocketConnection(ws);
}
