/**
 * Typed gRPC calls to one server, over a Unix socket or TCP without TLS: container runtimes, CSI
 * drivers and device plug-ins. See GrpcChannel for what is promised.
 */
import type { Address } from "#lib/http2/connect-http2.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { type CallOptions, GrpcChannel } from "./grpc-channel.ts";
import type { GrpcMethod } from "./grpc-messages.ts";
import { streamAnswers } from "./stream-answers.ts";

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 20_000;
const RECONNECT_MS_MAX = 3_000;

export class GrpcClient implements Disposable {
  readonly #channel: GrpcChannel;

  /** `unix:///run/containerd/containerd.sock`, a path, or `host:port`. */
  constructor(endpoint: string) {
    this.#channel = new GrpcChannel({
      address: addressOf(endpoint),
      // Servers on Unix sockets refuse a socket's path as authority.
      authority: "localhost",
      // Deadlines are counted on the system's clock, whatever clock the caller has.
      clock: systemClock,
      random: systemRandom,
      messageBytesMax: MESSAGE_BYTES_MAX,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      reconnectMsMax: RECONNECT_MS_MAX,
    });
  }

  call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    options: CallOptions = {},
  ): Promise<Response> {
    return this.#channel.call(method, request, options);
  }

  /** Answers of a server stream in order; ends with the stream or when the signal aborts. */
  stream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): AsyncGenerator<Response, void> {
    return streamAnswers(this.#channel, method, request, signal);
  }

  close(): void {
    this.#channel.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** `unix:` takes a path; one that begins with a zero byte is an abstract socket. */
function addressOf(endpoint: string): Address {
  if (endpoint.startsWith("/")) return { path: endpoint };
  const unix = /^unix:(?:\/\/)?(.+)$/s.exec(endpoint);
  if (unix !== null) return { path: unix[1]! };
  const [, host, port] = /^(?:dns:\/*)?(.+):(\d+)$/.exec(endpoint) ?? [];
  if (host === undefined) throw new RangeError(`gRPC: ${endpoint} is no address`);
  return { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) };
}
