/** The gRPC client of a KMS v2 plugin, which listens on a Unix socket. */
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import type { Clock } from "#lib/clock.ts";
import type { KmsMetrics } from "../encryption-metrics.ts";
import { EncryptionError } from "../transformer.ts";
import {
  DECRYPT,
  type DecryptRequest,
  ENCRYPT,
  type EncryptResponse,
  type KmsMethod,
  STATUS,
  type StatusResponse,
} from "./kms-messages.ts";

export interface KmsServiceOptions {
  readonly provider: string;
  /** The path of the socket, or `@name` of an abstract one. */
  readonly socket: string;
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, "nowMs" | "elapsedMs">;
  readonly metrics: KmsMetrics;
}

/** Every call rejects with an EncryptionError, at the latest after the timeout. */
export interface KmsService extends Disposable {
  status(): Promise<StatusResponse>;
  encrypt(uid: string, plaintext: Uint8Array): Promise<EncryptResponse>;
  decrypt(request: DecryptRequest): Promise<Uint8Array>;
}

export function connectKms(options: KmsServiceOptions): KmsService {
  const client = new Client(targetOf(options.socket), credentials.createInsecure(), {
    "grpc.default_authority": "localhost",
    "grpc.service_config_disable_resolution": 1,
    "grpc.enable_retries": 0,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.use_local_subchannel_pool": 1,
  });
  return {
    status: () => call(client, options, STATUS, {}),
    encrypt: (uid, plaintext) => call(client, options, ENCRYPT, { uid, plaintext }),
    decrypt: async (request) => (await call(client, options, DECRYPT, request)).plaintext,
    [Symbol.dispose]: () => client.close(),
  };
}

function targetOf(socket: string): string {
  return socket.startsWith("@") ? `unix:\0${socket.slice(1)}` : `unix:${socket}`;
}

function call<Request, Response>(
  client: Client,
  { provider, timeoutMs, clock, metrics }: KmsServiceOptions,
  { path, request, response }: KmsMethod<Request, Response>,
  message: Partial<Request>,
): Promise<Response> {
  const startMs = clock.elapsedMs();
  const done = (code: string): void =>
    metrics.called(provider, path, code, (clock.elapsedMs() - startMs) / 1000);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      (value: Partial<Request>) => request.encode(value),
      (bytes) => response.decode(bytes),
      message,
      new Metadata({ waitForReady: true }),
      { deadline: clock.nowMs() + timeoutMs },
      (error, value) => {
        done(error === null ? "OK" : goCode(error));
        if (error === null) resolve(value!);
        else reject(asEncryptionError(error));
      },
    );
  });
}

function asEncryptionError(error: ServiceError): EncryptionError {
  const code = goCode(error);
  return new EncryptionError(`rpc error: code = ${code} desc = ${error.details}`, code);
}

/** `DEADLINE_EXCEEDED` is `DeadlineExceeded` in Go; only CANCELLED is spelled in another way. */
function goCode({ code }: ServiceError): string {
  if (code === status.CANCELLED) return "Canceled";
  const words = (status[code] ?? "UNKNOWN").toLowerCase().split("_");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
