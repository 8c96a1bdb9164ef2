/** A KMS v2 plugin for tests: a real gRPC server on a Unix socket that encrypts with AES-GCM keys. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { Server, ServerCredentials, type ServiceDefinition, status } from "@grpc/grpc-js";
import {
  DECRYPT,
  type DecryptRequest,
  ENCRYPT,
  type EncryptRequest,
  type KmsMethod,
  STATUS,
} from "./kms-messages.ts";

export interface KmsPlugin extends AsyncDisposable {
  /** The id of the key in use; changing it rotates the key. Old keys still decrypt. */
  keyId: string;
  healthz: string;
  /** How many calls of each method there were. */
  readonly calls: { status: number; encrypt: number; decrypt: number };
}

/** `keys` outlive a plugin that is stopped and started again. */
export type KmsPluginKeys = Map<string, Buffer>;

const ANNOTATION = "version.encryption.remote.io";

/** `socket`: a path, or `@name` of an abstract one. */
export async function startKmsPlugin(
  socket: string,
  keys: KmsPluginKeys = new Map(),
): Promise<KmsPlugin> {
  const server = new Server();
  const calls = { status: 0, encrypt: 0, decrypt: 0 };
  const plugin = { keyId: "key-1", healthz: "ok", calls };
  const keyOf = (id: string): Buffer => {
    const key = keys.get(id) ?? randomBytes(32);
    keys.set(id, key);
    return key;
  };
  server.addService(SERVICE, {
    status: (_: unknown, done: Done) => {
      calls.status += 1;
      done(null, { version: "v2", healthz: plugin.healthz, keyId: plugin.keyId });
    },
    encrypt: ({ request }: { request: EncryptRequest }, done: Done) => {
      calls.encrypt += 1;
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", keyOf(plugin.keyId), nonce);
      const sealed = Buffer.concat([cipher.update(request.plaintext), cipher.final()]);
      const ciphertext = Buffer.concat([nonce, sealed, cipher.getAuthTag()]);
      const annotations = [{ key: ANNOTATION, value: Buffer.from("1") }];
      done(null, { ciphertext, keyId: plugin.keyId, annotations });
    },
    decrypt: ({ request }: { request: DecryptRequest }, done: Done) => {
      calls.decrypt += 1;
      const { ciphertext, keyId, annotations } = request;
      const key = keys.get(keyId);
      if (key === undefined || annotations[0]?.key !== ANNOTATION) {
        done({ code: status.INVALID_ARGUMENT, details: `unknown key ${keyId}` });
        return;
      }
      const cipher = createDecipheriv("aes-256-gcm", key, ciphertext.subarray(0, 12));
      cipher.setAuthTag(ciphertext.subarray(-16));
      const plaintext = Buffer.concat([
        cipher.update(ciphertext.subarray(12, -16)),
        cipher.final(),
      ]);
      done(null, { plaintext });
    },
  });
  const address = socket.startsWith("@") ? `unix:\0${socket.slice(1)}` : `unix:${socket}`;
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    ),
  );
  return Object.assign(plugin, {
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  });
}

type Done = (error: object | null, answer?: object) => void;

const SERVICE: ServiceDefinition = {
  status: definition(STATUS),
  encrypt: definition(ENCRYPT),
  decrypt: definition(DECRYPT),
};

function definition<Request, Response>({ path, request, response }: KmsMethod<Request, Response>) {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value: Partial<Request>) => request.encode(value),
    requestDeserialize: (bytes: Buffer) => request.decode(bytes),
    responseSerialize: (value: Partial<Response>) => response.encode(value),
    responseDeserialize: (bytes: Buffer) => response.decode(bytes),
  } as const;
}
