/** Chooses endpoints in turn; with session affinity a client gets the same one until it was silent for long. */
import type { Endpoint } from "../../rules/endpoint.ts";

/** The client that was silent longest is forgotten when there are more. */
const CLIENTS_MAX = 10_000;

interface Remembered {
  readonly endpoint: Endpoint;
  readonly expiryMs: number;
}

export class Balancer {
  #endpoints: readonly Endpoint[] = [];
  #affinityMs: number | undefined;
  #next = 0;
  readonly #clients = new Map<string, Remembered>();

  update(endpoints: readonly Endpoint[], affinitySeconds: number | undefined): void {
    this.#endpoints = endpoints;
    this.#affinityMs = affinitySeconds === undefined ? undefined : affinitySeconds * 1000;
    const known = new Set(endpoints.map(idOf));
    for (const [client, { endpoint }] of this.#clients) {
      if (this.#affinityMs === undefined || !known.has(idOf(endpoint)))
        this.#clients.delete(client);
    }
  }

  /** Whether connections to this endpoint may go on. */
  has(endpoint: Endpoint): boolean {
    return this.#endpoints.some((one) => idOf(one) === idOf(endpoint));
  }

  /** Undefined without endpoints. `isRetry` forgets the one that did not answer. */
  pick(client: string, nowMs: number, isRetry = false): Endpoint | undefined {
    const remembered = this.#clients.get(client);
    this.#clients.delete(client);
    const isKept = !isRetry && remembered !== undefined && nowMs < remembered.expiryMs;
    const endpoint = isKept ? remembered.endpoint : this.#inTurn();
    if (endpoint === undefined || this.#affinityMs === undefined) return endpoint;
    this.#clients.set(client, { endpoint, expiryMs: nowMs + this.#affinityMs });
    if (this.#clients.size > CLIENTS_MAX) {
      for (const oldest of this.#clients.keys()) {
        this.#clients.delete(oldest);
        break;
      }
    }
    return endpoint;
  }

  #inTurn(): Endpoint | undefined {
    if (this.#endpoints.length === 0) return undefined;
    this.#next = (this.#next + 1) % this.#endpoints.length;
    return this.#endpoints[this.#next];
  }
}

function idOf({ ip, port }: Endpoint): string {
  return `${ip} ${port}`;
}
