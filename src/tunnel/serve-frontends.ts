/** The two ways in which an API server asks for connections: HTTP CONNECT, and packets over gRPC. */
import type { Duplex } from "node:stream";
import { closeResponsePacket, dataPacket, PACKET, type ReadPacket } from "./packet.ts";
import { type ObjectStream, PacketStream } from "./packet-stream.ts";
import { releaseWhenDrained } from "./release-when-drained.ts";
import type { TunnelConnection, TunnelServer } from "./tunnel-server.ts";

/** `head`: what came with the request. Ends with the socket or the connection. */
export function serveConnect(
  server: TunnelServer,
  address: string,
  socket: Duplex,
  head: Uint8Array,
): void {
  let connection: TunnelConnection | undefined;
  const refuse = (status: string, why: string): void => {
    const type = "Content-Type: text/plain; charset=utf-8\r\nConnection: close";
    socket.end(`HTTP/1.1 ${status}\r\n${type}\r\n\r\n${why}`);
  };
  const hasAgents = server.agents.length > 0;
  const cancel = server.dial(address, {
    connected: (made) => {
      connection = made;
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      if (head.length > 0) made.write(head, socket);
      socket.on("data", (chunk: Buffer) => made.write(chunk, socket));
    },
    failed: (why) =>
      hasAgents
        ? refuse("502 Bad Gateway", `Failed to tunnel dial request: ${why}\r\n`)
        : refuse("500 Internal Server Error", `currently no tunnels available: ${why}`),
    data: (bytes, hold) => {
      if (!socket.write(bytes)) releaseWhenDrained(socket, hold());
    },
    closed: () => void socket.end(),
  });
  socket.on("error", () => undefined); // a close follows
  socket.on("end", () => void socket.end()); // HTTP servers leave that open; a close follows
  socket.on("close", () => {
    cancel();
    connection?.close();
  });
}

/** One connection over the stream, as upstream's clients use it. */
export function serveProxyStream(server: TunnelServer, call: ObjectStream): void {
  const stream = new PacketStream(call);
  let connection: TunnelConnection | undefined;
  let cancel = (): void => undefined;
  let wasDialled = false;
  const dial = (address: string, random: bigint): void => {
    if (wasDialled) return;
    wasDialled = true;
    const answer = (error: string, connectId = 0): void =>
      stream.send({ type: PACKET.dialResponse, dialResponse: { random, error, connectId } });
    cancel = server.dial(address, {
      connected: (made) => {
        connection = made;
        answer("", made.id);
      },
      failed: (why) => answer(why),
      data: (bytes, hold) => {
        const id = connection?.id ?? 0;
        let release: (() => void) | undefined;
        const source = {
          pause: () => {
            release = hold();
          },
          resume: () => release?.(),
        };
        stream.send(dataPacket(id, bytes), source);
      },
      closed: (why) => {
        stream.send(closeResponsePacket(connection?.id ?? 0, why));
        stream.end();
      },
    });
  };
  const receive = (packet: ReadPacket): void => {
    if (packet.type === PACKET.dialRequest) {
      dial(packet.dialRequest?.address ?? "", packet.dialRequest?.random ?? 0n);
    } else if (packet.type === PACKET.data) {
      connection?.write(packet.data?.data ?? new Uint8Array(), call);
    } else if (packet.type === PACKET.closeRequest) {
      connection?.close();
      stream.send(closeResponsePacket(packet.closeRequest?.connectId ?? 0));
      stream.end();
    } else if (packet.type === PACKET.closeDial) cancel();
  };
  stream.start(receive, () => {
    cancel();
    connection?.close();
  });
}
