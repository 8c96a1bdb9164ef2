/**
 * Connections to the members of an etcd cluster.
 *
 * Promises:
 * 1. A call goes to a member that is connected. When the one in use fails, the next is used; nobody
 *    waits for a dead one longer than CONNECT_TIMEOUT_MS.
 * 2. Reads, and writes that were certainly not carried out, are tried on the other members before
 *    they fail. A write whose answer was lost fails with `maybeApplied`.
 * 3. Members that cannot reach a leader refuse calls at once instead of letting them wait.
 * 4. Broken connections are made anew in the background; nothing has to be restarted.
 */
import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";
import {
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  connectivityState,
  credentials,
  Metadata,
} from "@grpc/grpc-js";
import type { Clock } from "#lib/clock.ts";
import { type CallKind, isFinal, isUnavailable, toStoreError, unavailable } from "./errors.ts";
import { type Method, range } from "./rpc.ts";

export interface TlsOptions {
  /** PEM. The system's authorities if none is given. */
  readonly ca?: Buffer;
  /** PEM, for servers that ask for a client certificate. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface EndpointsOptions {
  /** `https://host:2379`; with http:// there is no TLS. */
  readonly endpoints: readonly string[];
  readonly tls?: TlsOptions;
  readonly clock: Clock;
  readonly callTimeoutMs: number;
}

export interface Connection {
  readonly endpoint: string;
  readonly client: Client;
}

const CONNECT_TIMEOUT_MS = 2_000;
const RETRY_PAUSE_MS = 50;
const ATTEMPTS_MIN = 2;

/**
 * How long an attempt at something that can be repeated may take. What was under way to a leader who
 * died is lost without a word, so the first ones are about as long as an election.
 */
export function patienceMs(attempt: number): number {
  return attempt <= 2 ? 1_000 : attempt === 3 ? 2_000 : 6_000;
}

const CHANNEL_OPTIONS: ClientOptions = {
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  // A member that hangs is noticed. etcd does not allow more than a ping in five seconds.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_retries": 0,
  // Each store has connections of its own: a closed store takes nothing from another.
  "grpc.use_local_subchannel_pool": 1,
};

export class Endpoints implements Disposable {
  readonly #connections: readonly Connection[];
  readonly #options: EndpointsOptions;
  #current = 0;

  constructor(options: EndpointsOptions) {
    if (options.endpoints.length === 0) throw new RangeError("etcd: no endpoint is given");
    this.#options = options;
    this.#connections = options.endpoints.map((endpoint) => connect(endpoint, options.tls));
  }

  /** A member that is connected. */
  async connection(): Promise<Connection> {
    const { length } = this.#connections;
    for (let tried = 0; tried < length; tried++) {
      const index = (this.#current + tried) % length;
      const connection = this.#connections[index]!;
      if (await this.#becomesReady(connection)) {
        this.#current = index;
        return connection;
      }
    }
    const reasons = await Promise.all(this.#connections.map((one) => this.#whyNotReady(one)));
    throw unavailable(`no etcd member can be reached: ${reasons.join("; ")}`);
  }

  /** Makes the next call go to another member. */
  leave(connection: Connection): void {
    if (this.#connections[this.#current] !== connection) return;
    this.#current = (this.#current + 1) % this.#connections.length;
  }

  async call<Request, Response>(
    method: Method<Request, Response>,
    request: Partial<Request>,
    kind: CallKind,
    { timeoutMs = this.#options.callTimeoutMs } = {},
  ): Promise<Response> {
    const { clock } = this.#options;
    const startMs = clock.elapsedMs();
    for (let attempt = 1; ; attempt++) {
      const connection = await this.connection();
      const leftMs = timeoutMs - (clock.elapsedMs() - startMs);
      const attemptMs = kind === "read" ? Math.min(leftMs, patienceMs(attempt)) : leftMs;
      try {
        return await this.#send(connection, method, request, kind, attemptMs);
      } catch (error) {
        if (!isUnavailable(error) || isFinal(error)) throw error;
        this.leave(connection);
        const { problem } = error;
        const applied = problem.code === "Unavailable" && problem.maybeApplied;
        const late = clock.elapsedMs() - startMs + RETRY_PAUSE_MS >= timeoutMs;
        if (applied || late || attempt > ATTEMPTS_MIN + this.#connections.length) throw error;
        await clock.sleep(RETRY_PAUSE_MS);
      }
    }
  }

  stream<Request, Response>(
    { client }: Connection,
    { path, request, response }: Method<Request, Response>,
  ): ClientDuplexStream<Partial<Request>, Response> {
    return client.makeBidiStreamRequest(
      path,
      (message: Partial<Request>) => request.encode(message),
      (bytes) => response.decode(bytes),
      requireLeader(),
    );
  }

  [Symbol.dispose](): void {
    for (const { client } of this.#connections) client.close();
  }

  #send<Request, Response>(
    { client, endpoint }: Connection,
    { path, request, response }: Method<Request, Response>,
    message: Partial<Request>,
    kind: CallKind,
    timeoutMs: number,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        (value: Partial<Request>) => request.encode(value),
        (bytes) => response.decode(bytes),
        message,
        requireLeader(),
        { deadline: this.#options.clock.nowMs() + Math.max(1, timeoutMs) },
        (error, value) => {
          if (error !== null) reject(toStoreError(error, kind, endpoint));
          else resolve(value!);
        },
      );
    });
  }

  /** gRPC tells why there is no connection only to those who try to use it. */
  async #whyNotReady(connection: Connection): Promise<string> {
    const asking = this.#send(
      connection,
      range,
      { key: Buffer.of(0), countOnly: true },
      "read",
      500,
    );
    return await asking.then(
      () => `${connection.endpoint} has just come back`,
      (error: Error) => error.message,
    );
  }

  #becomesReady({ client }: Connection): Promise<boolean> {
    const deadline = this.#options.clock.nowMs() + CONNECT_TIMEOUT_MS;
    const channel = client.getChannel();
    return new Promise((resolve) => {
      const look = (): void => {
        const state = channel.getConnectivityState(true);
        if (state === connectivityState.READY) resolve(true);
        else if (state === connectivityState.IDLE || state === connectivityState.CONNECTING) {
          channel.watchConnectivityState(state, deadline, (error) => {
            if (error === undefined) look();
            else resolve(false);
          });
        } else resolve(false);
      };
      look();
    });
  }
}

function connect(endpoint: string, tls: TlsOptions | undefined): Connection {
  const [, scheme, host, port = "2379"] =
    /^(https?):\/\/([^/]+?)(?::(\d+))?\/?$/.exec(endpoint) ?? [];
  if (host === undefined) {
    throw new RangeError(`etcd: an endpoint looks like https://host:2379, not ${endpoint}`);
  }
  const address = `${host}:${port}`;
  if (scheme === "http") {
    return { endpoint, client: new Client(address, credentials.createInsecure(), CHANNEL_OPTIONS) };
  }
  const name = host.replace(/^\[(.*)\]$/, "$1");
  const { ca, cert, key } = tls ?? {};
  const secure = credentials.createSsl(ca ?? null, key ?? null, cert ?? null, {
    checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
  });
  // TLS does not allow an address where a name is expected: another name stands in for it, and the
  // check above does not look at it.
  const standIn = isIP(name) === 0 ? {} : { "grpc.ssl_target_name_override": "localhost" };
  return { endpoint, client: new Client(address, secure, { ...CHANNEL_OPTIONS, ...standIn }) };
}

function requireLeader(): Metadata {
  const metadata = new Metadata();
  metadata.set("hasleader", "true");
  return metadata;
}
