/** The end of a tunnel on a node: makes the connections that the server asks for over one stream. */
import { connect, type Socket } from "node:net";
import { codeOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import { closeResponsePacket, dataPacket, PACKET, type ReadPacket } from "./packet.ts";
import type { PacketStream } from "./packet-stream.ts";
import { releaseWhenDrained } from "./release-when-drained.ts";

const DIAL_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 10_000;

/** As Go says it. */
const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "i/o timeout",
};

export interface ServedConnections {
  /** Resolves when the stream has ended; its connections end with it. */
  readonly ended: Promise<Error | undefined>;
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
}

export function serveConnections(stream: PacketStream, clock: Clock): ServedConnections {
  const established = new Map<number, Socket>();
  const dialling = new Map<bigint, Socket>();
  /** Also those that are being closed, until everything is written. */
  const open = new Set<Socket>();
  const waiting = new Set<() => void>();
  let lastId = 0;

  const dial = (address: string, random: bigint): void => {
    const answer = (error: string, connectId = 0): void =>
      stream.send({ type: PACKET.dialResponse, dialResponse: { random, error, connectId } });
    const place = placeOf(address);
    if (place === undefined) {
      answer(`dial tcp: address ${address}: missing port in address`);
      return;
    }
    if (established.size + dialling.size >= CONNECTIONS_MAX) {
      answer(`dial tcp ${address}: too many connections`);
      return;
    }
    const socket = connect({ ...place, noDelay: true, allowHalfOpen: false });
    dialling.set(random, socket);
    open.add(socket);
    const timeout = clock.schedule(DIAL_TIMEOUT_MS, () =>
      socket.destroy(Object.assign(new Error("i/o timeout"), { code: "ETIMEDOUT" })),
    );
    let id = 0;
    let fault = "";
    socket.on("connect", () => {
      timeout.cancel();
      dialling.delete(random);
      id = ++lastId;
      established.set(id, socket);
      answer("", id);
      socket.on("data", (chunk) => stream.send(dataPacket(id, chunk), socket));
    });
    socket.on("error", (error) => {
      fault = FAULTS[codeOf(error) ?? ""] ?? error.message;
    });
    socket.on("close", () => {
      timeout.cancel();
      if (id === 0) {
        if (dialling.delete(random)) answer(`dial tcp ${address}: ${fault || "closed"}`);
      } else if (established.delete(id)) stream.send(closeResponsePacket(id, fault));
      open.delete(socket);
      if (open.size > 0) return;
      for (const resolve of waiting) resolve();
      waiting.clear();
    });
  };

  const receive = (packet: ReadPacket): void => {
    switch (packet.type) {
      case PACKET.dialRequest: {
        const { address = "", random = 0n } = packet.dialRequest ?? {};
        dial(address, random);
        return;
      }
      case PACKET.data: {
        const { connectId = 0, data = new Uint8Array() } = packet.data ?? {};
        const socket = established.get(connectId);
        if (socket === undefined) {
          stream.send(closeResponsePacket(connectId, "unrecognized connectID"));
          return;
        }
        if (!socket.write(data)) releaseWhenDrained(socket, stream.hold());
        return;
      }
      case PACKET.closeRequest: {
        const { connectId = 0 } = packet.closeRequest ?? {};
        const socket = established.get(connectId);
        if (!established.delete(connectId)) {
          stream.send(closeResponsePacket(connectId, "Unknown connectID"));
          return;
        }
        socket?.destroySoon(); // what was written is sent first
        stream.send(closeResponsePacket(connectId));
        return;
      }
      case PACKET.closeDial: {
        const { random = 0n } = packet.closeDial ?? {};
        const socket = dialling.get(random);
        dialling.delete(random);
        socket?.destroy();
        return;
      }
      default:
        return; // newer than this agent
    }
  };

  const ended = new Promise<Error | undefined>((resolve) => {
    stream.start(receive, (error) => {
      established.clear();
      dialling.clear();
      for (const socket of open) socket.destroy();
      resolve(error);
    });
  });
  return {
    ended,
    idle: async () => {
      if (open.size > 0) await new Promise<void>((resolve) => waiting.add(resolve));
    },
  };
}

function placeOf(address: string): { host: string; port: number } | undefined {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  return host === "" ? undefined : { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
