/**
 * GET of a kubelet's page over HTTPS. Connections are not kept between rounds; TLS sessions are, so that
 * a round over many nodes costs no full handshakes.
 *
 * Promises: an answer has a limit in bytes and in time; nothing is left open after either.
 */
import { Agent, request } from "node:https";
import type { Node } from "#api/generated/core.v1.ts";

const DEFAULT_PORT = 10_250;
const ANSWER_BYTES_MAX = 32 << 20;
const SESSIONS_MAX = 10_000;

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
  readonly #agent: Agent;

  constructor(access: KubeletAccess) {
    this.#access = access;
    const { ca, cert, key, verify } = access.tls;
    this.#agent = new Agent({
      keepAlive: false,
      maxCachedSessions: SESSIONS_MAX,
      minVersion: "TLSv1.2",
      rejectUnauthorized: verify !== "nothing",
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async get(node: Node, path: string, signal: AbortSignal): Promise<string> {
    const { host, port } = placeOf(node, this.#access);
    const token = await this.#access.token?.();
    const headers = {
      accept: "text/plain;version=0.0.4;q=1,*/*;q=0.1",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    return await new Promise((resolve, reject) => {
      const options = { host, port, path, headers, agent: this.#agent, signal };
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
      asked.on("error", reject);
      asked.end();
    });
  }
}

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
