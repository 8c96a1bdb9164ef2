/**
 * Connections of unauthenticated clients: no verified certificate, and no authenticated request yet.
 * Anyone can open them, so the memory that all of them together can use is bounded to 64 MB.
 *
 * Promises:
 * 1. There are at most CLIENTS_MAX of them: a new one ends the oldest. A connection takes about 70 KB.
 * 2. LARGE_HEADERS_MAX of them may send headers of 1 MiB. The others may send SMALL_HEADERS_BYTES_MAX.
 */
import type { Socket } from "node:net";

const CLIENTS_MAX = 256;
const LARGE_HEADERS_MAX = 4;

export const SMALL_HEADERS_BYTES_MAX = 16 * 1024;

export class UnauthenticatedConnections {
  /** Oldest first; whether it may send large headers. */
  readonly #clients = new Map<Socket, boolean>();
  #largeHeaders = 0;

  /** Of a new connection, before its TLS handshake. */
  add(transport: Socket): void {
    if (this.#clients.size >= CLIENTS_MAX) {
      const [oldest] = this.#clients.keys();
      this.remove(oldest!);
      oldest!.destroy();
    }
    this.#clients.set(transport, false);
    transport.once("close", () => this.remove(transport));
  }

  /** It has ended, or its client is known now. */
  remove(transport: Socket): void {
    if (this.#clients.get(transport) === true) this.#largeHeaders -= 1;
    this.#clients.delete(transport);
  }

  /** Whether a connection may send headers of 1 MiB; one that is known may. */
  maySendLargeHeaders(transport: Socket): boolean {
    const may = this.#clients.get(transport);
    if (may !== false) return true;
    if (this.#largeHeaders >= LARGE_HEADERS_MAX) return false;
    this.#largeHeaders += 1;
    this.#clients.set(transport, true);
    return true;
  }
}
