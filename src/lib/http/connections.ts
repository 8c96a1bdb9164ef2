/** The open connections of a server: which there are, which are being used, and how they end. */
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { UnauthenticatedConnections } from "./unauthenticated-connections.ts";

export class Connections {
  /** TCP sockets, also of connections that have not finished the TLS handshake. */
  readonly #transports = new Set<Socket>();
  readonly #unknown = new UnauthenticatedConnections();
  readonly #sockets = new Set<TLSSocket>();
  /** TCP sockets of unauthenticated clients. */
  readonly #transportOf = new WeakMap<TLSSocket, Socket>();
  /** Sessions of connections that negotiated HTTP/2. */
  readonly #sessions = new Map<TLSSocket, ServerHttp2Session>();
  /** Requests in flight on a connection; absent means none. */
  readonly #requests = new WeakMap<TLSSocket, number>();
  #closing = false;
  #draining = false;

  addTransport(transport: Socket): void {
    this.#transports.add(transport);
    this.#unknown.add(transport);
    transport.on("close", () => this.#transports.delete(transport));
  }

  /** The transport's handshake is over. */
  add(socket: TLSSocket, transport: Socket): void {
    this.#sockets.add(socket);
    this.#transportOf.set(socket, transport);
    socket.on("close", () => this.#sockets.delete(socket));
  }

  /** The client has shown who it is. */
  authenticated(socket: TLSSocket): void {
    const transport = this.#transportOf.get(socket);
    if (transport === undefined) return;
    this.#transportOf.delete(socket);
    this.#unknown.remove(transport);
  }

  maySendLargeHeaders(socket: TLSSocket): boolean {
    const transport = this.#transportOf.get(socket);
    return transport === undefined || this.#unknown.maySendLargeHeaders(transport);
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

  /** Another request on a connection. */
  occupy(socket: TLSSocket): void {
    this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
  }

  /** A request on a connection has been answered. */
  release(socket: TLSSocket): void {
    const left = (this.#requests.get(socket) ?? 1) - 1;
    if (left > 0) this.#requests.set(socket, left);
    else this.#requests.delete(socket);
  }

  /** From now on connections end with their last request. */
  get closing(): boolean {
    return this.#closing;
  }

  /** Whether clients are to use other connections for their next requests. */
  get draining(): boolean {
    return this.#draining;
  }

  drain(): void {
    this.#draining = true;
  }

  close(): void {
    this.#draining = true;
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
