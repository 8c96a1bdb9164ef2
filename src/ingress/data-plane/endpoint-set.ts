/**
 * The endpoints of one port of a Service, and whose turn it is.
 *
 * Promises:
 * 1. Requests go round; endpoints that were tried for this request are left out.
 * 2. An endpoint that could not be connected to waits for some seconds while others are there.
 * 3. A client with the cookie of an endpoint gets that endpoint for as long as it is there.
 */
import { shortHash } from "#lib/text/short-hash.ts";
import type { EndpointAddress } from "../routes/ready-endpoints.ts";

export interface Endpoint extends EndpointAddress {
  /** What a cookie calls it: says nothing about its address. */
  readonly id: string;
  /** `host:port` */
  readonly authority: string;
}

const FAILED_WAIT_MS = 5_000;
const ID_LENGTH = 20;

export class EndpointSet {
  readonly #endpoints: readonly Endpoint[];
  readonly #failedAtMs = new Map<Endpoint, number>();
  #turn = 0;

  constructor(addresses: readonly EndpointAddress[], salt: string) {
    this.#endpoints = addresses.map(({ host, port }) => {
      const authority = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
      return { host, port, authority, id: shortHash(`${salt} ${authority}`, ID_LENGTH) };
    });
  }

  get size(): number {
    return this.#endpoints.length;
  }

  get addresses(): readonly EndpointAddress[] {
    return this.#endpoints;
  }

  has(authority: string): boolean {
    return this.#endpoints.some((endpoint) => endpoint.authority === authority);
  }

  /** Undefined when all were tried. */
  pick(nowMs: number, tried: ReadonlySet<string>, cookie?: string): Endpoint | undefined {
    if (cookie !== undefined && tried.size === 0) {
      const own = this.#endpoints.find(({ id }) => id === cookie);
      if (own !== undefined) return own;
    }
    const { length } = this.#endpoints;
    let waiting: Endpoint | undefined;
    for (let i = 0; i < length; i++) {
      const index = (this.#turn + i) % length;
      const endpoint = this.#endpoints[index]!;
      if (tried.has(endpoint.authority)) continue;
      if (this.#isWaiting(endpoint, nowMs)) {
        waiting ??= endpoint;
        continue;
      }
      this.#turn = index + 1;
      return endpoint;
    }
    return waiting;
  }

  failed(endpoint: Endpoint, nowMs: number): void {
    this.#failedAtMs.set(endpoint, nowMs);
  }

  #isWaiting(endpoint: Endpoint, nowMs: number): boolean {
    const failedAtMs = this.#failedAtMs.get(endpoint);
    if (failedAtMs === undefined) return false;
    if (nowMs - failedAtMs < FAILED_WAIT_MS) return true;
    this.#failedAtMs.delete(endpoint);
    return false;
  }
}
