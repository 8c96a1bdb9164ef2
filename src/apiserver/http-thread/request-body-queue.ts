/** Bytes from a client, queued until the reader in this thread wants them; then the HTTP thread may send more. */
import type { Channel } from "./channel.ts";

/** As `Readable.push`: false when the reader wants no more for now. */
type Push = (bytes: Buffer | null) => boolean;

export class RequestBodyQueue {
  readonly #channel: Channel;
  readonly #push: Push;
  readonly #waiting: (Buffer | null)[] = [];
  #wanted = false;

  constructor(channel: Channel, push: Push) {
    this.#channel = channel;
    this.#push = push;
  }

  /** Null is the end. */
  add(bytes: Buffer | null): void {
    this.#waiting.push(bytes);
    this.#hand();
  }

  /** The reader wants more. */
  read(): void {
    this.#wanted = true;
    this.#hand();
  }

  #hand(): void {
    while (this.#wanted && this.#waiting.length > 0) {
      const bytes = this.#waiting.shift()!;
      this.#wanted = this.#push(bytes);
      if (bytes !== null) this.#channel.pulled(bytes.length);
    }
  }
}
