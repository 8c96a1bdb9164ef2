/**
 * When a page gets messages: the first change at once, then at most one message in a period, and never a new
 * one before the last one was written to the socket.
 */
import type { Clock } from "#lib/time/clock.ts";

export class Outbox {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #flush: () => Promise<void>;
  #state: "idle" | "sending" | "waiting" = "idle";
  #isDirty = false;
  #timer: Disposable | undefined;

  constructor(clock: Clock, everyMs: number, flush: () => Promise<void>) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#flush = flush;
  }

  changed(): void {
    this.#isDirty = true;
    if (this.#state === "idle") void this.#send();
  }

  /** Without the wait: the user looks elsewhere in the table. */
  flushNow(): void {
    this.#isDirty = true;
    if (this.#state !== "sending") void this.#send();
  }

  end(): void {
    this.#timer?.[Symbol.dispose]();
  }

  async #send(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#state = "sending";
    this.#isDirty = false;
    await this.#flush();
    this.#state = "waiting";
    this.#timer = this.#clock.schedule(this.#everyMs, () => {
      this.#state = "idle";
      if (this.#isDirty) void this.#send();
    });
  }
}
