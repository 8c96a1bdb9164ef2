/**
 * One exchange with an upstream server: over UDP from a port of its own, and once more over TCP if the
 * answer did not fit. Packets that are no answer to this question are ignored, so a forged one must
 * guess the port and the id.
 */
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import type { Clock } from "#lib/time/clock.ts";
import { encodeUpstreamQuery } from "../wire/encode-question.ts";
import { type ForeignAnswer, readForeignAnswer } from "../wire/foreign-answer.ts";
import type { Query } from "../wire/parse-query.ts";
import { frame, TcpFrames } from "../wire/tcp-frames.ts";
import type { Upstream } from "./resolv-conf.ts";

export interface AskOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** 0 to 65,535; not to be guessed. */
  readonly id: number;
}

/** Rejects when the upstream does not answer in time. */
export async function askUpstream(
  upstream: Upstream,
  query: Query,
  options: AskOptions,
  signal: AbortSignal,
): Promise<ForeignAnswer> {
  const answer = await exchange(upstream, query, options, signal, overUdp);
  return answer.truncated ? exchange(upstream, query, options, signal, overTcp) : answer;
}

/** Sends the packet and calls back with each packet that comes; `close` ends it. */
type Carrier = (
  upstream: Upstream,
  packet: Buffer,
  onPacket: (packet: Buffer) => void,
  onError: (error: Error) => void,
) => { close(): void };

function exchange(
  upstream: Upstream,
  query: Query,
  { clock, timeoutMs, id }: AskOptions,
  signal: AbortSignal,
  carrier: Carrier,
): Promise<ForeignAnswer> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
      carried.close();
      settle();
    };
    const fail = (error: unknown): void => end(() => reject(error));
    const onAbort = (): void => fail(signal.reason);
    const timer = clock.schedule(timeoutMs, () =>
      fail(new Error(`${upstream.address}: i/o timeout`)),
    );
    const onPacket = (packet: Buffer): void => {
      const answer = readForeignAnswer(packet, id, query.question);
      if (answer !== undefined) end(() => resolve(answer));
    };
    const carried = carrier(upstream, encodeUpstreamQuery(id, query), onPacket, fail);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

const overUdp: Carrier = ({ address, port }, packet, onPacket, onError) => {
  const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
  let isOpen = true;
  socket.on("error", onError);
  socket.on("message", onPacket);
  // A connected socket takes packets of this upstream only.
  socket.connect(port, address, (failed?: unknown) => {
    if (failed instanceof Error)
      onError(failed); // the network cannot be reached
    else if (isOpen) socket.send(packet, (error) => (error === null ? undefined : onError(error)));
  });
  return {
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      socket.removeAllListeners("message");
      socket.close();
    },
  };
};

const overTcp: Carrier = ({ address, port }, packet, onPacket, onError) => {
  const socket = connect({ host: address, port });
  const frames = new TcpFrames();
  socket.on("connect", () => socket.write(frame(packet)));
  socket.on("data", (bytes) => {
    const [first] = frames.push(bytes);
    if (first === undefined) return;
    onPacket(first);
    onError(new Error(`${address}: a malformed answer`));
  });
  socket.on("error", onError);
  socket.on("close", () => onError(new Error(`${address}: closed without an answer`)));
  return { close: () => void socket.destroy() };
};
