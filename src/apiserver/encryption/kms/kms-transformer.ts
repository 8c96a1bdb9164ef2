/**
 * Envelope encryption with a KMS v2 plugin: each value is encrypted with a key of its own, derived from
 * a seed, and carries the seed as the plugin encrypted it.
 */
import { andThen } from "#lib/async/maybe-promise.ts";
import type { SpanOptions, Tracer } from "#lib/tracing/tracer.ts";
import type { KmsMetrics } from "../encryption-metrics.ts";
import { EncryptionError, type Transformer } from "../transformer.ts";
import type { KmsKeys } from "./kms-keys.ts";
import { type EncryptedObject, encryptedObject, SOURCE_TYPE } from "./kms-messages.ts";
import { checkEncryptedObject } from "./validate-encrypted-object.ts";

/** `tracer` makes spans, with upstream's names, of what is done within a request's span. */
export function createKmsTransformer(
  provider: string,
  keys: KmsKeys,
  metrics: KmsMetrics,
  tracer?: Tracer,
): Transformer {
  const transformer = kmsTransformer(provider, keys, metrics);
  if (tracer === undefined) return transformer;
  const span = (name: string): SpanOptions => ({
    name: `${name} with envelopeTransformer`,
    attributes: () => ({ "transformer.provider.name": provider }),
  });
  return {
    seal(plain, context) {
      if (!tracer.isActive) return transformer.seal(plain, context);
      const sealing = tracer.start(span("TransformToStorage"));
      try {
        return transformer.seal(plain, context);
      } finally {
        sealing.end();
      }
    },
    open: (stored, context) =>
      tracer.child(span("TransformFromStorage"), () => transformer.open(stored, context)),
  };
}

function kmsTransformer(provider: string, keys: KmsKeys, metrics: KmsMetrics): Transformer {
  return {
    seal(plain, context) {
      const { transformer, keyId, encryptedSource, annotations } = keys.forWriting();
      const data = transformer.seal(plain, context);
      metrics.keyUsed("to_storage", provider, keyId);
      const sourceType = SOURCE_TYPE.hkdfSeed;
      return encryptedObject.encode({ data, keyId, encryptedSource, annotations, sourceType });
    },
    open(stored, context) {
      const object = decode(stored);
      const { data, keyId, sourceType } = object;
      const current = keys.current();
      return andThen(keys.forReading(object), (transformer) => {
        metrics.keyUsed("from_storage", provider, keyId);
        const isOld = keyId !== current.keyId || sourceType !== SOURCE_TYPE.hkdfSeed;
        return andThen(transformer.open(data, context), ({ plain, stale }) => ({
          plain,
          stale: stale || isOld,
        }));
      });
    },
  };
}

function decode(stored: Uint8Array): EncryptedObject {
  let object: EncryptedObject;
  try {
    object = encryptedObject.decode(stored);
  } catch {
    throw new EncryptionError("proto: cannot parse invalid wire-format data");
  }
  checkEncryptedObject(object);
  return object;
}
