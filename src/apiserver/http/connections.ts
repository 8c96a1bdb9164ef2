/** The open connections of a server: which there are, which are being used, and how they end. */
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

export class Connections {
  /** Below TLS, also of those who have not come to an agreement on it. */
  readonly #transports = new Set<Socket>();
  readonly #sockets = new Set<TLSSocket>();
  /** Of those who agreed on HTTP/2. */
  readonly #sessions = new Map<TLSSocket, ServerHttp2Session>();
  /** How many requests of a connection are being answered; absent means none. */
  readonly #requests = new WeakMap<TLSSocket, number>();
  #closing = false;

  addTransport(transport: Socket): void {
    this.#transports.add(transport);
    transport.on("close", () => this.#transports.delete(transport));
  }

  /** The transport's handshake is over. */
  add(socket: TLSSocket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
  }

  addSession(socket: TLSSocket, session: ServerHttp2Session): void {
    this.#sessions.set(socket, session);
    session.on("close", () => this.#sessions.delete(socket));
  }

  get sockets(): Iterable<TLSSocket> {
    return this.#sockets;
  }

  isBusy(socket: TLSSocket): boolean {
    return this.#requests.has(socket);
  }

  /** Another request on a connection; call the outcome when it is answered. */
  occupy(socket: TLSSocket): () => void {
    this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
    return () => {
      const left = (this.#requests.get(socket) ?? 1) - 1;
      if (left > 0) this.#requests.set(socket, left);
      else this.#requests.delete(socket);
    };
  }

  /** From now on connections end with their last request. */
  get closing(): boolean {
    return this.#closing;
  }

  close(): void {
    this.#closing = true;
    this.retire(this.#sockets);
  }

  /** Ends those that are idle. Of the busy ones, HTTP/2 ends by itself after its last request. */
  retire(sockets: Iterable<TLSSocket>): void {
    for (const socket of sockets) {
      if (socket.alpnProtocol === "h2") this.#sessions.get(socket)?.close();
      else if (!this.isBusy(socket)) socket.destroySoon();
    }
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const transport of this.#transports) transport.destroy();
  }
}
