/**
 * Typed gRPC calls to one server, over a unix socket or TCP without TLS: container runtimes, CSI
 * drivers and device plug-ins.
 *
 * Promises:
 * 1. A call ends with an answer, with `GrpcError` (code and message of the server), or with the
 *    signal's reason; never later than its deadline.
 * 2. A broken connection is made anew for the next call. Nothing is repeated.
 * 3. `close` ends every call that is under way.
 */
import {
  Client,
  type ClientOptions,
  credentials,
  type ServiceError,
  status as statusCodes,
} from "@grpc/grpc-js";
import { onAbort } from "#lib/aborted.ts";
import { systemClock } from "#lib/system-clock.ts";

/** One method of a service: `/runtime.v1.RuntimeService/Version`. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  readonly request: { encode(message: Request): Buffer };
  readonly response: { decode(bytes: Uint8Array): Response };
}

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export class GrpcError extends Error {
  override readonly name = "GrpcError";
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const GRPC_CODES = statusCodes;

const CHANNEL_OPTIONS: ClientOptions = {
  "grpc.max_receive_message_length": 16 * 1024 * 1024,
  "grpc.max_send_message_length": 16 * 1024 * 1024,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 3_000,
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_retries": 0,
  "grpc.use_local_subchannel_pool": 1,
  // Servers on unix sockets refuse a socket's path as authority.
  "grpc.default_authority": "localhost",
};

export class GrpcClient implements Disposable {
  readonly #client: Client;

  /** `unix:///run/containerd/containerd.sock`, a path, or `host:port`. */
  constructor(endpoint: string) {
    const target = endpoint.startsWith("/") ? `unix://${endpoint}` : endpoint;
    this.#client = new Client(target, credentials.createInsecure(), CHANNEL_OPTIONS);
  }

  call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    { timeoutMs, signal }: CallOptions = {},
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const abort = (): void => {
        reject(signal?.reason);
        call.cancel();
      };
      const call = this.#client.makeUnaryRequest(
        method.path,
        (message: Request) => method.request.encode(message),
        (bytes) => method.response.decode(bytes),
        request,
        deadline(timeoutMs),
        (error, answer) => {
          signal?.removeEventListener("abort", abort);
          if (error !== null) reject(toGrpcError(error));
          else resolve(answer as Response);
        },
      );
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Answers of a server stream in order; ends with the stream or when the signal aborts. */
  async *stream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    signal: AbortSignal,
  ): AsyncGenerator<Response, void> {
    const stream = this.#client.makeServerStreamRequest(
      method.path,
      (message: Request) => method.request.encode(message),
      (bytes) => method.response.decode(bytes),
      request,
    );
    onAbort(signal, () => stream.cancel());
    try {
      for await (const answer of stream) yield answer as Response;
    } catch (error) {
      if (signal.aborted) return;
      throw toGrpcError(error);
    } finally {
      stream.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function deadline(timeoutMs: number | undefined): { deadline?: Date } {
  // grpc-js counts deadlines on the system's clock, whatever clock the caller has.
  return timeoutMs === undefined ? {} : { deadline: new Date(systemClock.nowMs() + timeoutMs) };
}

function toGrpcError(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  const { code, details, message } = error as ServiceError;
  return new GrpcError(code, details === undefined || details === "" ? message : details);
}
