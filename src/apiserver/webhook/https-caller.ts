/**
 * Calls other servers over HTTPS: webhooks and aggregated API servers. Connections are kept open and
 * shared by all calls with the same address and TLS options. Every call has a time limit and a limit on
 * the size of its answer. Faults are worded as upstream's clients word them.
 */
import { Agent, request } from "node:https";
import { isIP } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { codeOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { type ConnectStream, createConnectionThrough } from "../proxy/connect-stream.ts";
import { dialFault } from "../proxy/dial-fault.ts";

export interface HttpsEndpoint {
  /** What is dialled. */
  readonly host: string;
  readonly port: number;
  /** The name that the server's certificate must have; the host unless given. */
  readonly serverName?: string;
  /** PEM; the system's authorities unless given. */
  readonly ca?: string;
  readonly insecure?: boolean;
  /** The client certificate, in PEM. */
  readonly cert?: string;
  readonly key?: string;
}

export interface HttpsCall {
  readonly endpoint: HttpsEndpoint;
  readonly method: "GET" | "POST";
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  readonly signal?: AbortSignal;
}

export interface HttpsAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

const IDLE_CONNECTIONS_MAX = 64;
const DEADLINE_EXCEEDED = "context deadline exceeded";

export class HttpsCaller implements Disposable {
  readonly #clock: Pick<Clock, "schedule">;
  readonly #tracer: Tracer | undefined;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE_CONNECTIONS_MAX });

  /** `connect` makes the connections, if it is given; `tracer` has spans of calls within a span. */
  constructor(clock: Pick<Clock, "schedule">, connect?: ConnectStream, tracer?: Tracer) {
    this.#clock = clock;
    this.#tracer = tracer;
    if (connect !== undefined) Object.assign(this.#agent, throughTunnel(connect));
  }

  /** Rejects, saying why, if there is no answer. Any status code is an answer. */
  call(call: HttpsCall): Promise<HttpsAnswer> {
    const tracer = this.#tracer;
    if (tracer?.isActive !== true) return this.#send(call);
    const { method, endpoint, path } = call;
    const attributes = () => ({
      "http.request.method": method,
      "server.address": endpoint.host,
      "server.port": endpoint.port,
      "url.full": `https://${endpoint.serverName ?? endpoint.host}:${endpoint.port}${path}`,
    });
    return tracer.span({ name: `HTTP ${method}`, kind: "client", attributes }, () =>
      this.#send({ ...call, headers: { ...call.headers, ...tracer.headers() } }),
    );
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #send(call: HttpsCall): Promise<HttpsAnswer> {
    const { endpoint, method, path, headers, body, signal, answerBytesMax } = call;
    return new Promise((resolve, reject) => {
      const outgoing = request({
        agent: this.#agent,
        method,
        path,
        headers: {
          ...(headers as Record<string, string | string[]>),
          ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
        },
        ...tlsOptions(endpoint),
        ...(signal === undefined ? {} : { signal }),
      });
      const limit = this.#clock.schedule(call.timeoutMs, () =>
        outgoing.destroy(new Error(DEADLINE_EXCEEDED)),
      );
      const fail = (error: Error): void => {
        limit.cancel();
        reject(new Error(faultOf(error, endpoint)));
      };
      outgoing.on("error", fail);
      outgoing.on("response", (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on("data", (chunk: Buffer) => {
          length += chunk.length;
          if (length > answerBytesMax) {
            outgoing.destroy(new Error(`the answer is longer than ${answerBytesMax} bytes`));
          } else chunks.push(chunk);
        });
        response.on("error", fail);
        response.on("end", () => {
          limit.cancel();
          const { statusCode: code = 0, headers: answered } = response;
          resolve({ code, headers: answered, body: Buffer.concat(chunks) });
        });
      });
      outgoing.end(body);
    });
  }
}

/** What an agent calls for a new connection, with the options of the request. */
export function throughTunnel(connect: ConnectStream) {
  type Options = ConnectionOptions & { readonly host: string; readonly port: number };
  type Created = Parameters<typeof createConnectionThrough>[3];
  return {
    createConnection: (options: Options, created: Created): void =>
      createConnectionThrough(connect, options, options, created),
  };
}

/** For `https.request`. */
function tlsOptions(endpoint: HttpsEndpoint) {
  const { host, port, serverName = "", ca, insecure, cert, key } = endpoint;
  return {
    host,
    port,
    rejectUnauthorized: insecure !== true,
    ...(serverName === "" || isIP(serverName) > 0 ? {} : { servername: serverName }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

function faultOf(error: Error, { host, port, serverName }: HttpsEndpoint): string {
  if (error.message === DEADLINE_EXCEEDED) return DEADLINE_EXCEEDED;
  const isName = codeOf(error) === "ERR_TLS_CERT_ALTNAME_INVALID";
  return dialFault(error, { host: isName ? (serverName ?? host) : host, port });
}
