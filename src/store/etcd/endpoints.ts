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
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  connectivityState,
  credentials,
  Metadata,
} from "@grpc/grpc-js";
import type { Clock } from "#lib/clock.ts";
import { type CallKind, isUnavailable, toStoreError, unavailable } from "./errors.ts";
import type { Method } from "./rpc.ts";

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
    throw unavailable(`no etcd member can be reached: ${this.#options.endpoints.join(", ")}`);
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
  ): Promise<Response> {
    const { clock, callTimeoutMs } = this.#options;
    const startMs = clock.elapsedMs();
    for (let attempt = 1; ; attempt++) {
      const connection = await this.connection();
      const leftMs = callTimeoutMs - (clock.elapsedMs() - startMs);
      try {
        return await this.#send(connection, method, request, kind, leftMs);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        this.leave(connection);
        const { problem } = error;
        const applied = problem.code === "Unavailable" && problem.maybeApplied;
        const late = clock.elapsedMs() - startMs + RETRY_PAUSE_MS >= callTimeoutMs;
        if (applied || late || attempt > this.#connections.length) throw error;
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
  const { protocol, host } = new URL(endpoint);
  if (protocol !== "http:" && protocol !== "https:") {
    throw new RangeError(`etcd: an endpoint begins with https:// or http://, not ${endpoint}`);
  }
  const channel = protocol === "https:" ? secure(tls) : credentials.createInsecure();
  return { endpoint, client: new Client(host, channel, CHANNEL_OPTIONS) };
}

function secure({ ca, cert, key }: TlsOptions = {}): ChannelCredentials {
  return credentials.createSsl(ca ?? null, key ?? null, cert ?? null);
}

function requireLeader(): Metadata {
  const metadata = new Metadata();
  metadata.set("hasleader", "true");
  return metadata;
}
