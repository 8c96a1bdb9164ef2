/**
 * Serves DNS over UDP. What cannot be sent at once is bounded: beyond that, answers are dropped. Errors of
 * sending are not reported: a client may be gone.
 *
 * Clients are addresses, so nothing is looked up, and sends have no callback. Node then sends at
 * once instead of in a later turn, which takes less processor time.
 */
import { createSocket } from "node:dgram";
import { isIPv6 } from "node:net";
import { onAbort } from "#lib/async/aborted.ts";
import type { Origin, Responder } from "./responder.ts";

const SEND_QUEUE_BYTES_MAX = 4 * 1024 * 1024;
const RECEIVE_BUFFER_BYTES = 1024 * 1024;

export interface ServerAddress {
  readonly address: string;
  readonly port: number;
  /** Packets and connections from other addresses are dropped. All are allowed unless given. */
  isAllowed?(client: string): boolean;
}

/** Resolves with the port when it listens; ends with the signal. */
export function startUdpServer(
  { address, port, isAllowed }: ServerAddress,
  responder: Responder,
  signal: AbortSignal,
): Promise<number> {
  const ipv6 = isIPv6(address);
  const socket = createSocket({
    type: ipv6 ? "udp6" : "udp4",
    ipv6Only: ipv6,
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    lookup: (client, _options, callback) => callback(null, client, ipv6 ? 6 : 4),
  });
  const family = ipv6 ? "2" : "1";
  socket.on("message", (packet, { address: client, port: clientPort }) => {
    if (isAllowed?.(client) === false) return;
    const send = (answer: Buffer | undefined): void => {
      if (answer === undefined || signal.aborted) return;
      if (socket.getSendQueueSize() > SEND_QUEUE_BYTES_MAX) return;
      socket.send(answer, clientPort, client);
    };
    const origin: Origin = { carrier: "udp", family, client };
    const answer = responder.respond(packet, origin, signal);
    if (answer instanceof Promise) void answer.then(send, ignoreError);
    else send(answer);
  });
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, address, () => {
      socket.removeListener("error", reject);
      socket.on("error", () => undefined);
      onAbort(signal, () => socket.close());
      resolve(socket.address().port);
    });
  });
}

function ignoreError(): void {}
