/**
 * TLS handshakes a few at a time. Each costs about half a millisecond of computation, which Node does
 * in the event loop for every connection that is ready, one after the other.
 *
 * Promises:
 * 1. A handshake begins when the client has sent something, and no more than HANDSHAKES_PER_TURN
 *    begin in one turn of the event loop: other connections are served in between.
 * 2. A client that sends nothing within `withinMs` is disconnected.
 */
import type { Socket } from "node:net";
import { nextTurn } from "../async/next-turn.ts";
import type { Clock } from "../time/clock.ts";

const HANDSHAKES_PER_TURN = 4;

export interface HandshakeQueueOptions {
  readonly clock: Clock;
  readonly withinMs: number;
  begin(transport: Socket): void;
  /** A client sent nothing in time. */
  timedOut(): void;
}

export class HandshakeQueue {
  readonly #options: HandshakeQueueOptions;
  readonly #waiting = new Set<Socket>();
  #running = false;

  constructor(options: HandshakeQueueOptions) {
    this.#options = options;
  }

  add(transport: Socket): void {
    const { clock, withinMs, timedOut } = this.#options;
    const timer = clock.schedule(withinMs, () => {
      transport.destroy();
      timedOut();
    });
    const ignore = (): void => undefined;
    transport.on("error", ignore);
    transport.once("close", () => {
      timer.cancel();
      this.#waiting.delete(transport);
    });
    transport.once("readable", () => {
      timer.cancel();
      this.#waiting.add(transport);
      if (!this.#running) void this.#run();
    });
  }

  /** The first one begins at once: connections that come one by one do not wait. */
  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0) {
      let begun = 0;
      for (const transport of this.#waiting) {
        this.#waiting.delete(transport);
        if (!transport.destroyed) this.#options.begin(transport);
        begun += 1;
        if (begun === HANDSHAKES_PER_TURN) break;
      }
      await nextTurn();
    }
    this.#running = false;
  }
}
