/**
 * Acknowledges the PINGs of a server: at once, but for one kind on sockets of this machine.
 *
 * A gRPC server in Go sends BANDWIDTH_PING with the first data that it receives, and no other while it is
 * not acknowledged. Acknowledged at once, each small request costs a second read and a second write. Where
 * there is no bandwidth to measure, it is acknowledged together with a request, HELD_MS later or more: the
 * server does not wait for it.
 */
import type { Clock } from "#lib/time/clock.ts";
import { FLAG, FRAME, frame } from "./frames.ts";

const BANDWIDTH_PING = Buffer.from([2, 4, 16, 16, 9, 14, 7, 7]);
const HELD_MS = 5_000;

export interface PingReplyOptions {
  readonly clock: Clock;
  /** Whether the connection stays on this machine. */
  readonly isLocal: boolean;
  push(bytes: Buffer): void;
}

export class PingReplies {
  readonly #options: PingReplyOptions;
  /** When a PING came that is not acknowledged yet. */
  #heldSinceMs: number | undefined;

  constructor(options: PingReplyOptions) {
    this.#options = options;
  }

  receive(payload: Buffer): void {
    const { clock, isLocal, push } = this.#options;
    if (isLocal && this.#heldSinceMs === undefined && BANDWIDTH_PING.equals(payload)) {
      this.#heldSinceMs = clock.elapsedMs();
      return;
    }
    push(acknowledgement(payload));
  }

  /** Behind the data of a request: for an acknowledgement alone the server would send the next PING. */
  requestSent(): void {
    if (this.#heldSinceMs === undefined) return;
    const { clock, push } = this.#options;
    if (clock.elapsedMs() - this.#heldSinceMs < HELD_MS) return;
    this.#heldSinceMs = undefined;
    push(acknowledgement(BANDWIDTH_PING));
  }
}

function acknowledgement(payload: Buffer): Buffer {
  return frame(FRAME.ping, FLAG.ack, 0, payload);
}
