/** Port-forward over WebSocket: its binary messages are the bytes of a SPDY connection. */
import type { Duplex } from "node:stream";
import { onAbort } from "#lib/async/aborted.ts";
import { drained } from "#lib/async/drained.ts";
import { acceptWebSocket } from "#lib/websocket/accept.ts";
import type { WebSocketConnection } from "#lib/websocket/connection.ts";
import { askedProtocols, type ClientConnection } from "./client-connection.ts";
import { requestUpgrade, type UpgradeRequest } from "./dial.ts";
import { forwardRefusal } from "./forward-refusal.ts";

export const SPDY = "SPDY/3.1";
const PREFIX = `${SPDY}+`;

/** Whether the client would wrap SPDY. */
export function wrapsSpdy(headers: ClientConnection["headers"]): boolean {
  return askedProtocols(headers).some(isWrapped);
}

export async function tunnelSpdy(request: UpgradeRequest, client: ClientConnection): Promise<void> {
  const protocols = askedProtocols(client.headers).filter(isWrapped);
  const inner = protocols.map((protocol) => protocol.slice(PREFIX.length));
  const answer = await requestUpgrade(
    {
      ...request,
      method: "POST",
      protocol: SPDY,
      headers: { ...request.headers, "x-stream-protocol-version": inner },
    },
    client.signal,
  ).catch((error: Error) => {
    throw new Error(`error dialing backend: ${error.message}`);
  });
  if (answer.outcome === "answered") return await forwardRefusal(answer.response, client.socket);
  const { response, socket: backend, head } = answer;
  if (!/spdy\/3\.1/i.test(response.headers.upgrade ?? "")) {
    backend.destroy();
    throw new Error("unable to upgrade: missing upgrade headers in response");
  }
  const chosen = response.headers["x-stream-protocol-version"];
  const protocol = chosen === undefined ? undefined : `${PREFIX}${chosen}`;
  const socket = await acceptWebSocket(client, protocol);
  if (socket === undefined) {
    backend.destroy();
    return;
  }
  backend.on("error", () => socket.destroy());
  onAbort(client.signal, () => backend.destroy());
  if (head.length > 0) await socket.send(head);
  await Promise.all([toBackend(socket, backend), toClient(backend, socket)]);
}

async function toClient(backend: Duplex, socket: WebSocketConnection): Promise<void> {
  try {
    for await (const chunk of backend) await socket.send(chunk as Buffer);
  } catch {
    // A connection that breaks ends like any other.
  }
  socket.close();
}

async function toBackend(socket: WebSocketConnection, backend: Duplex): Promise<void> {
  try {
    for await (const { data } of socket.messages()) {
      if (!backend.write(data)) await drained(backend);
    }
  } catch {
    socket.destroy();
  }
  backend.end();
}

function isWrapped(protocol: string): boolean {
  return protocol.startsWith(PREFIX) && protocol.endsWith(".k8s.io");
}
