/**
 * GET of a kubelet's page over HTTPS.
 *
 * Promises:
 * 1. An answer has a limit in bytes and in time; nothing is left open after either.
 * 2. Connections are kept between rounds, at most `KEPT_MAX`: a handshake takes three times as long as all the
 *    rest of a scrape. TLS sessions are kept for the others.
 * 3. If a kubelet had closed a kept connection, the page is asked for once more on a new one.
 */

import { Agent, type RequestOptions, request } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import type { Node } from "#api/generated/core.v1.ts";

const DEFAULT_PORT = 10_250;
const ANSWER_BYTES_MAX = 32 << 20;
const SESSIONS_MAX = 10_000;
const KEPT_MAX = 5_000;

export interface KubeletAccess {
  /** In order of preference. */
  readonly addressTypes: readonly string[];
  /** Used where the node does not report one, or where reported ports are not to be used. */
  readonly port?: number | undefined;
  readonly useReportedPort: boolean;
  readonly tls: KubeletTls;
  /** Asked before each request. */
  token?(): string | undefined | Promise<string | undefined>;
}

export interface KubeletTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly verify: "chain and name" | "nothing";
}

export type FetchPage = (node: Node, path: string, signal: AbortSignal) => Promise<string>;

export class KubeletFetch implements Disposable {
  readonly #access: KubeletAccess;
  readonly #kept: Agent;
  readonly #single: Agent;
  /** Connections of the agent that keeps them. */
  readonly #open = new Set<Socket>();

  constructor(access: KubeletAccess) {
    this.#access = access;
    const { ca, cert, key, verify } = access.tls;
    // One for all connections: to make it takes longer than the rest of a resumed handshake.
    const secureContext = createSecureContext({
      minVersion: "TLSv1.2",
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
    const common = {
      maxCachedSessions: SESSIONS_MAX,
      secureContext,
      rejectUnauthorized: verify !== "nothing",
    };
    this.#kept = new Agent({ ...common, keepAlive: true, maxFreeSockets: 1 });
    this.#single = new Agent(common);
  }

  [Symbol.dispose](): void {
    this.#kept.destroy();
    this.#single.destroy();
  }

  async get(node: Node, path: string, signal: AbortSignal): Promise<string> {
    const { host, port } = placeOf(node, this.#access);
    const token = await this.#access.token?.();
    const headers = {
      accept: "text/plain;version=0.0.4;q=1,*/*;q=0.1",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const options = { host, port, path, headers, signal };
    const agent = this.#open.size < KEPT_MAX ? this.#kept : this.#single;
    try {
      return await this.#ask({ ...options, agent });
    } catch (error) {
      if (!(error instanceof ConnectionWasClosed)) throw error;
      return await this.#ask({ ...options, agent: this.#single });
    }
  }

  #ask(options: RequestOptions): Promise<string> {
    return new Promise((resolve, reject) => {
      const asked = request(options, (answer) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        answer.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > ANSWER_BYTES_MAX) asked.destroy(new Error("the answer is too long"));
          else chunks.push(chunk);
        });
        answer.on("error", reject);
        answer.on("end", () => {
          if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString("utf8"));
          else
            reject(
              new Error(`request failed, status: "${answer.statusCode} ${answer.statusMessage}"`),
            );
        });
      });
      asked.on("error", (error: NodeJS.ErrnoException) => {
        const wasClosed = asked.reusedSocket && error.code === "ECONNRESET";
        reject(wasClosed ? new ConnectionWasClosed(error.message, { cause: error }) : error);
      });
      if (options.agent === this.#kept) asked.once("socket", (socket) => this.#count(socket));
      asked.end();
    });
  }

  #count(socket: Socket): void {
    if (this.#open.has(socket)) return;
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
  }
}

/** A kept connection was closed by the kubelet while the request was sent. */
class ConnectionWasClosed extends Error {}

function placeOf(
  node: Node,
  access: KubeletAccess,
): { readonly host: string; readonly port: number } {
  const addresses = node.status?.addresses ?? [];
  const reported = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  for (const type of access.addressTypes) {
    const found = addresses.find((one) => one.type === type);
    if (found === undefined) continue;
    const own = access.port ?? DEFAULT_PORT;
    return { host: found.address, port: access.useReportedPort && reported > 0 ? reported : own };
  }
  const tried = access.addressTypes.join(" ");
  throw new Error(`node ${node.metadata.name} had no addresses that matched types [${tried}]`);
}
