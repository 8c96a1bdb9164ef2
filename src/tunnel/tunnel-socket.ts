/** A connection through a tunnel that speaks packets over gRPC, as a stream that stands for a socket. */
import { Duplex } from "node:stream";
import type { Client } from "@grpc/grpc-js";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import { closeRequestPacket, dataPacket, PACKET, PROXY_PATH, packetMethod } from "./packet.ts";
import { PacketStream } from "./packet-stream.ts";
import { withSocketMethods } from "./socket-methods.ts";

/** Rejects, saying why, if the server or the address cannot be reached. */
export function openTunnelSocket(
  client: Client,
  address: string,
  dialId: bigint,
  signal: AbortSignal,
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const call = client.makeBidiStreamRequest(
      PROXY_PATH,
      packetMethod.requestSerialize,
      packetMethod.responseDeserialize,
    );
    const stream = new PacketStream(call);
    let opened: OpenSocket | undefined;
    const fail = (why: string): void => {
      if (opened === undefined) reject(new Error(why));
      else opened.socket.destroy(new Error(why));
    };
    const abort = (): void => {
      call.cancel();
      fail(messageOf(signal.reason));
    };
    onAbort(signal, abort);
    stream.start(
      (packet) => {
        if (packet.type === PACKET.dialResponse) {
          const { error = "", connectId = 0 } = packet.dialResponse ?? {};
          signal.removeEventListener("abort", abort);
          if (error !== "") {
            call.cancel();
            fail(error);
            return;
          }
          opened = socketOver(stream, connectId, () => call.cancel());
          resolve(opened.socket);
        } else if (packet.type === PACKET.data) opened?.receive(packet.data?.data);
        else if (packet.type === PACKET.closeResponse) opened?.close(packet.closeResponse?.error);
      },
      (error) => {
        signal.removeEventListener("abort", abort);
        if (opened === undefined) fail(error?.message ?? "the tunnel has ended");
        else opened.close(error?.message);
      },
    );
    const dialRequest = { protocol: "tcp", address, random: dialId };
    stream.send({ type: PACKET.dialRequest, dialRequest });
  });
}

interface OpenSocket {
  readonly socket: Duplex;
  receive(bytes: Uint8Array | undefined): void;
  /** The other side has ended; with a fault unless the text is empty. */
  close(fault: string | undefined): void;
}

function socketOver(stream: PacketStream, id: number, end: () => void): OpenSocket {
  let release: (() => void) | undefined;
  let isOver = false;
  let resume: (() => void) | undefined;
  const source = {
    isPaused: false,
    pause: () => {
      source.isPaused = true;
    },
    resume: () => {
      source.isPaused = false;
      resume?.();
    },
  };
  const socket = new Duplex({
    read: () => {
      release?.();
      release = undefined;
    },
    write: (chunk: Buffer, _encoding, done) => {
      stream.send(dataPacket(id, chunk), source);
      if (!source.isPaused) {
        done();
        return;
      }
      resume = () => {
        resume = undefined;
        done();
      };
    },
    final: (done) => {
      stream.send(closeRequestPacket(id));
      done();
    },
    destroy: (error, done) => {
      stream.send(closeRequestPacket(id));
      end();
      done(error);
    },
  });
  withSocketMethods(socket);
  return {
    socket,
    receive: (bytes) => {
      if (bytes === undefined || isOver || socket.destroyed) return;
      if (!socket.push(bytes)) release ??= stream.hold();
    },
    close: (fault = "") => {
      if (isOver || socket.destroyed) return;
      isOver = true;
      if (fault === "") socket.push(null);
      else socket.destroy(new Error(fault));
    },
  };
}
