/**
 * Connections to the members of an etcd cluster.
 *
 * Promises:
 * 1. A call goes to a member that is connected. When the one in use fails, the next is used; no call
 *    waits for a dead one longer than CONNECT_TIMEOUT_MS.
 * 2. Reads, and writes that were certainly not carried out, are tried on the other members before
 *    they fail. A write whose answer was lost fails with `maybeApplied`.
 * 3. Members that cannot reach a leader refuse calls at once instead of letting them wait.
 * 4. Broken connections are made anew when they are needed; nothing has to be restarted.
 */

import { GrpcChannel } from "#lib/grpc/grpc-channel.ts";
import { GrpcError } from "#lib/grpc/grpc-status.ts";
import type { GrpcStream, GrpcStreamHandler } from "#lib/grpc/grpc-stream.ts";
import type { Dial, TlsOptions } from "#lib/http2/connect-http2.ts";
import type { HeaderField } from "#lib/http2/hpack-static-table.ts";
import type { Logger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Tracer } from "#lib/tracing/tracer.ts";
import { type CallKind, isFinal, isUnavailable, toStoreError, unavailable } from "./errors.ts";
import type { Method } from "./rpc.ts";

export interface EndpointsOptions {
  /** `https://host:2379`; with http:// there is no TLS. */
  readonly endpoints: readonly string[];
  readonly tls?: TlsOptions;
  /** Makes the connections; they are made directly without it. */
  readonly dial?: Dial | undefined;
  readonly clock: Clock;
  readonly callTimeoutMs: number;
  /** Says when no member can be reached, and when one can again. */
  readonly logger?: Logger | undefined;
  /** Makes spans of calls that are made within a span. */
  readonly tracer?: Tracer | undefined;
}

export interface Connection {
  readonly endpoint: string;
  readonly channel: GrpcChannel;
}

const LOG_EVERY_MS = 30_000;
const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT_MS_MAX = 1_000;
const RETRY_PAUSE_MS = 50;
const ATTEMPTS_MIN = 2;
/** A member that cannot reach a leader refuses the call. */
const NEEDS_LEADER: readonly HeaderField[] = [["hasleader", "true"]];
/** A page of a listing; etcd itself has no limit. */
const MESSAGE_BYTES_MAX = 1024 * 1024 * 1024;
/** A member that hangs is noticed. etcd does not allow more than a ping in five seconds. */
const KEEP_ALIVE = { idleMs: 10_000, answerMs: 2_000 };

/**
 * How long an attempt at something that can be repeated may take. What was under way to a leader who
 * died is lost without a word, so the first ones are about as long as an election.
 */
export function patienceMs(attempt: number): number {
  return attempt <= 2 ? 1_000 : attempt === 3 ? 2_000 : 6_000;
}

export class Endpoints implements Disposable {
  #connections: readonly Connection[];
  readonly #options: EndpointsOptions;
  #current = 0;
  /** When it was last logged that no member can be reached; undefined while one can. */
  #lostLoggedMs: number | undefined;

  constructor(options: EndpointsOptions) {
    if (options.endpoints.length === 0) throw new RangeError("etcd: no endpoint is given");
    this.#options = options;
    this.#connections = options.endpoints.map((endpoint) => ({
      endpoint,
      channel: channelTo(endpoint, options, NEEDS_LEADER),
    }));
  }

  /**
   * Goes on with these members. Connections to members that stay are kept; calls that are under way to
   * those that go have their time.
   */
  use(endpoints: readonly string[]): void {
    const current = this.#connections[this.#current];
    const kept = new Map(this.#connections.map((one) => [one.endpoint, one]));
    const next = endpoints.map(
      (endpoint) =>
        kept.get(endpoint) ?? {
          endpoint,
          channel: channelTo(endpoint, this.#options, NEEDS_LEADER),
        },
    );
    if (next.length === 0) return;
    const gone = this.#connections.filter((one) => !next.includes(one));
    this.#connections = next;
    this.#current = Math.max(0, current === undefined ? -1 : next.indexOf(current));
    const { clock, callTimeoutMs } = this.#options;
    for (const { channel } of gone) clock.schedule(callTimeoutMs, () => channel.close());
  }

  /** A member that is connected. */
  async connection(): Promise<Connection> {
    const reasons: string[] = [];
    const { length } = this.#connections;
    const first = this.#current;
    for (let tried = 0; tried < length; tried++) {
      const index = (first + tried) % length;
      const connection = this.#connections[index]!;
      try {
        await connection.channel.connect();
        this.#current = index;
        this.#logBack(connection);
        return connection;
      } catch (error) {
        if (!(error instanceof GrpcError)) throw error;
        reasons.push(`etcd (${connection.endpoint}): ${error.message}`);
      }
    }
    this.#logLost(reasons);
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
      const current = this.#connections[this.#current]!;
      const connection = current.channel.isConnected ? current : await this.connection();
      const leftMs = timeoutMs - (clock.elapsedMs() - startMs);
      if (leftMs <= 0) throw unavailable("etcd: no member could be reached in time");
      const attemptMs = kind === "read" ? Math.min(leftMs, patienceMs(attempt)) : leftMs;
      try {
        return await connection.channel.call(method, request, {
          timeoutMs: attemptMs,
        });
      } catch (caught) {
        const error = toStoreError(caught, kind, connection.endpoint);
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

  /** Rejects with GrpcError if the connection is lost meanwhile. */
  stream<Request, Response>(
    { channel }: Connection,
    method: Method<Request, Response>,
    handler: GrpcStreamHandler<Response>,
  ): Promise<GrpcStream<Partial<Request>, Response>> {
    return channel.open(method, handler);
  }

  #logLost(reasons: readonly string[]): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.elapsedMs();
    if (this.#lostLoggedMs !== undefined && nowMs - this.#lostLoggedMs < LOG_EVERY_MS) return;
    this.#lostLoggedMs = nowMs;
    logger?.warn("no etcd member can be reached", { reasons });
  }

  #logBack({ endpoint }: Connection): void {
    if (this.#lostLoggedMs === undefined) return;
    this.#lostLoggedMs = undefined;
    this.#options.logger?.info("etcd can be reached again", { endpoint });
  }

  [Symbol.dispose](): void {
    for (const { channel } of this.#connections) channel.close();
  }
}

/** A channel to one member. It connects when it is used. */
export function channelTo(
  endpoint: string,
  { tls = {}, dial, clock, tracer }: Pick<EndpointsOptions, "tls" | "dial" | "clock" | "tracer">,
  metadata: readonly HeaderField[] = [],
): GrpcChannel {
  const [, scheme, host, port = "2379"] =
    /^(https?):\/\/([^/]+?)(?::(\d+))?\/?$/.exec(endpoint) ?? [];
  if (host === undefined) {
    throw new RangeError(`etcd: an endpoint looks like https://host:2379, not ${endpoint}`);
  }
  return new GrpcChannel({
    address: { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) },
    dial,
    tls: scheme === "https" ? tls : undefined,
    authority: `${host}:${port}`,
    metadata,
    clock,
    random: systemRandom,
    keepAlive: KEEP_ALIVE,
    messageBytesMax: MESSAGE_BYTES_MAX,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    reconnectMsMax: RECONNECT_MS_MAX,
    tracer,
  });
}
