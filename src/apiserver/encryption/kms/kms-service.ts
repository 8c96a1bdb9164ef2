/** The gRPC client of a KMS v2 plugin, which listens on a Unix socket. */

import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import { GrpcError, goCodeName } from "#lib/grpc/grpc-status.ts";
import type { Clock } from "#lib/time/clock.ts";
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
  const client = new GrpcClient(targetOf(options.socket));
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

async function call<Request, Response>(
  client: GrpcClient,
  { provider, timeoutMs, clock, metrics }: KmsServiceOptions,
  method: KmsMethod<Request, Response>,
  message: Partial<Request>,
): Promise<Response> {
  const startMs = clock.elapsedMs();
  const done = (code: string): void =>
    metrics.called(provider, method.path, code, (clock.elapsedMs() - startMs) / 1000);
  try {
    const answer = await client.call(method, message, { timeoutMs, waitForReady: true });
    done("OK");
    return answer;
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error;
    const code = goCodeName(error.code);
    done(code);
    throw new EncryptionError(`rpc error: code = ${code} desc = ${error.message}`, code);
  }
}
