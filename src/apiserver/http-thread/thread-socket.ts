/** An upgraded connection of the HTTP thread, as a socket in the main thread. */
import { Duplex } from "node:stream";
import { Channel, type ChannelListener, type Wire } from "./channel.ts";
import { RequestBodyQueue } from "./request-body-queue.ts";

export class ThreadSocket extends Duplex implements ChannelListener {
  readonly #id: number;
  readonly #channel: Channel;
  readonly #bodyQueue: RequestBodyQueue;
  #closed = false;
  #whenEnded: (() => void) | undefined;

  constructor(id: number, wire: Wire) {
    super({ allowHalfOpen: false });
    this.#id = id;
    this.#channel = new Channel(id, wire);
    this.#bodyQueue = new RequestBodyQueue(this.#channel, (bytes) => this.push(bytes));
  }

  data(bytes: Buffer | null): void {
    this.#bodyQueue.add(bytes);
  }

  taken(count: number): void {
    this.#channel.taken(count);
  }

  ended(): void {
    this.#whenEnded?.();
    this.#whenEnded = undefined;
  }

  left(): void {
    this.#closed = true;
    this.#channel.left();
    this.ended();
    this.destroy();
  }

  override _read(): void {
    this.#bodyQueue.read();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#closed || this.#channel.write(bytes)) done();
    else this.#channel.drained(done);
  }

  override _final(done: () => void): void {
    if (this.#closed) {
      done();
      return;
    }
    this.#whenEnded = done;
    this.#channel.say({ form: "end", id: this.#id });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#closed) this.#channel.sayLast({ form: "destroy", id: this.#id });
    this.#closed = true;
    done(error);
  }
}
