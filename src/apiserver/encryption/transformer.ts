/**
 * Encryption at rest: what stands between the JSON or protobuf of an object and the bytes in the store.
 *
 * Promises of every transformer:
 * 1. The stored form is upstream's, byte for byte: `k8s:enc:PROVIDER:v1:KEY:…`. Either server reads
 *    what the other has written with the same keys.
 * 2. `seal` never waits. `open` waits only for a KMS plugin that has to decrypt a key first.
 * 3. Both throw (or reject with) an EncryptionError that names no secret.
 * 4. Nonces and keys come from the system's randomness, never from a seeded source.
 */
import type { MaybePromise } from "#lib/async/maybe-promise.ts";

/** Which value is transformed. The key is authenticated: a value cannot be moved to another key. */
export interface StorageContext {
  readonly key: string;
  /** `secrets`, `deployments.apps`: for metrics. */
  readonly resource: string;
}

export interface Opened {
  readonly plain: Uint8Array;
  /** A write should replace it even if the object is unchanged: it was sealed with an older key. */
  readonly stale: boolean;
}

export interface Transformer {
  seal(plain: Uint8Array, context: StorageContext): Uint8Array;
  open(stored: Uint8Array, context: StorageContext): MaybePromise<Opened>;
}

/** A transformer for values that begin with a prefix. The prefix is not part of what it is given. */
export interface PrefixTransformer {
  readonly prefix: string;
  readonly transformer: Transformer;
}

/** A value cannot be encrypted or decrypted. */
export class EncryptionError extends Error {
  override readonly name = "EncryptionError";
  /** The gRPC status of a KMS plugin that refused, in Go's spelling. */
  readonly grpcCode: string | undefined;

  constructor(message: string, grpcCode?: string) {
    super(message);
    this.grpcCode = grpcCode;
  }
}

const ENCRYPTED = Buffer.from("k8s:enc:");

/** The prefix is reserved: neither JSON nor protobuf begins with it. */
export function isEncrypted(stored: Uint8Array): boolean {
  return stored.length >= ENCRYPTED.length && ENCRYPTED.every((byte, at) => stored[at] === byte);
}
