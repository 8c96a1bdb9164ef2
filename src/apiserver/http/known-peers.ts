/**
 * Who is at the other end of each connection, found out once, and anew when authorities change.
 *
 * A handshake trusts the authorities of its time. A client that it refused may be trusted now, but
 * only a new handshake verifies its certificate again: its connection is outdated and should end.
 */
import type { TLSSocket } from "node:tls";
import { type ClientAuthorities, peerOf } from "../authn/peer-certificate.ts";
import type { Peer } from "../request/request.ts";

export interface KnownPeersOptions {
  readonly authorities: ClientAuthorities;
  /** A handshake takes no longer. */
  readonly handshakeMaxMs: number;
  elapsedMs(): number;
  disconnected?(peer: Peer): void;
}

export class KnownPeers {
  readonly #options: KnownPeersOptions;
  #authorities: ClientAuthorities;
  #peers = new WeakMap<TLSSocket, Peer>();
  /** How often the authorities had changed when the handshake began, or one time less. */
  readonly #handshakes = new WeakMap<TLSSocket, number>();
  #changes = 0;
  #changedMs = Number.NEGATIVE_INFINITY;

  constructor(options: KnownPeersOptions) {
    this.#options = options;
    this.#authorities = options.authorities;
  }

  /** Its handshake is over. */
  add(socket: TLSSocket): void {
    const { elapsedMs, handshakeMaxMs } = this.#options;
    const mayBeOlder = elapsedMs() - this.#changedMs < handshakeMaxMs;
    this.#handshakes.set(socket, mayBeOlder ? this.#changes - 1 : this.#changes);
  }

  at(socket: TLSSocket): Peer {
    const known = this.#peers.get(socket);
    if (known !== undefined) return known;
    const peer = peerOf(socket, this.#authorities);
    this.#peers.set(socket, peer);
    const { disconnected } = this.#options;
    if (disconnected !== undefined) socket.once("close", () => disconnected(peer));
    return peer;
  }

  isOutdated(socket: TLSSocket): boolean {
    const isRefused = this.#peers.get(socket)?.certificateFault !== undefined;
    return isRefused && (this.#handshakes.get(socket) ?? 0) < this.#changes;
  }

  /** Verifies open connections against new authorities. Returns the connections that are outdated. */
  renew(authorities: ClientAuthorities, connections: Iterable<TLSSocket>): readonly TLSSocket[] {
    const { clientCaPem, frontProxyCaPem } = this.#authorities;
    this.#authorities = authorities;
    if (authorities.clientCaPem === clientCaPem && authorities.frontProxyCaPem === frontProxyCaPem)
      return [];
    this.#changes += 1;
    this.#changedMs = this.#options.elapsedMs();
    const outdated = [...connections].filter((socket) => this.isOutdated(socket));
    this.#peers = new WeakMap();
    return outdated;
  }
}
