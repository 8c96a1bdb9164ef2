/**
 * What is to be written to a socket. Everything that is pushed in one turn of the event loop goes out
 * in one write: a hundred small calls cost one system call.
 *
 * Limit: once the socket holds BUFFERED_BYTES_MAX that it could not send, `isFull` says so, and request
 * bodies wait; `onRoom` is called when there is room again. Frames about the connection itself are few
 * and never wait.
 */
import type { Duplex } from "node:stream";
import { setImmediate as inNextTurn } from "node:timers";

const BUFFERED_BYTES_MAX = 4 * 1024 * 1024;
/** Larger parts are not copied into one buffer with others. */
const JOINED_BYTES_MAX = 256 * 1024;

export class Outbox {
  readonly #socket: Duplex;
  readonly #flushLater = (): void => this.flush();
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #scheduled = false;

  constructor(socket: Duplex, onRoom: () => void) {
    this.#socket = socket;
    socket.on("drain", onRoom);
  }

  get isFull(): boolean {
    return this.#bytes + this.#socket.writableLength > BUFFERED_BYTES_MAX;
  }

  push(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    if (this.#scheduled) return;
    this.#scheduled = true;
    inNextTurn(this.#flushLater);
  }

  flush(): void {
    this.#scheduled = false;
    const parts = this.#parts;
    const bytes = this.#bytes;
    if (parts.length === 0) return;
    this.#parts = [];
    this.#bytes = 0;
    if (!this.#socket.writable) return;
    if (bytes <= JOINED_BYTES_MAX) {
      this.#socket.write(parts.length === 1 ? parts[0] : Buffer.concat(parts, bytes));
      return;
    }
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.uncork();
  }
}
