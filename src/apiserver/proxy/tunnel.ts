/**
 * A connection that changes its protocol (WebSocket, SPDY) and from then on carries whatever both
 * ends like. What a target does not speak is translated for it.
 */
import type { Duplex } from "node:stream";
import type { ClientConnection } from "./client-connection.ts";
import { requestUpgrade, type UpgradeRequest } from "./dial.ts";
import { forwardRefusal, rawHeaders } from "./forward-refusal.ts";
import { translateStreams, type WantedStreams } from "./translate-streams.ts";
import { tunnelSpdy } from "./tunnel-spdy.ts";

export interface Tunnel {
  readonly request: UpgradeRequest;
  readonly how: TunnelKind;
}

export type TunnelKind =
  /** The two ends speak the same. */
  | { readonly form: "joined" }
  /** The client's WebSocket channels become the target's SPDY streams. */
  | { readonly form: "translated"; readonly streams: WantedStreams }
  /** The client's SPDY comes inside a WebSocket. */
  | { readonly form: "unwrapped" };

/** Resolves when both ends are done; rejects on errors before the client was answered. */
export async function runTunnel(tunnel: Tunnel, client: ClientConnection): Promise<void> {
  switch (tunnel.how.form) {
    case "joined":
      return await join(tunnel.request, client);
    case "translated":
      return await translateStreams(tunnel.request, tunnel.how.streams, client);
    case "unwrapped":
      return await tunnelSpdy(tunnel.request, client);
  }
}

async function join(
  request: UpgradeRequest,
  { socket, head, signal }: ClientConnection,
): Promise<void> {
  const answer = await requestUpgrade(request, signal).catch((error: Error) => {
    throw new Error(`error dialing backend: ${error.message}`);
  });
  const { response } = answer;
  if (answer.outcome === "answered") return await forwardRefusal(response, socket);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${rawHeaders(response)}\r\n`);
  if (answer.head.length > 0) socket.write(answer.head);
  if (head.length > 0) answer.socket.write(head);
  await joinSockets(answer.socket, socket);
}

/** Until either is over: what is written by then still goes out. */
function joinSockets(backend: Duplex, client: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const join = (from: Duplex, to: Duplex): void => {
      const finish = (): void => void to.end(() => to.destroy());
      from.on("end", finish);
      from.on("close", finish);
      from.on("error", () => from.destroy());
      from.pipe(to, { end: false });
    };
    join(backend, client);
    join(client, backend);
    client.on("close", () => resolve());
  });
}
