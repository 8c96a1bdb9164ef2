/** AES-GCM with a random 12-byte nonce in front and the tag behind; the key in the store is authenticated. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { EncryptionError, type StorageContext, type Transformer } from "./transformer.ts";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The AES key has 16, 24 or 32 bytes. */
export function createAesGcm(aesKey: Uint8Array): Transformer {
  const cipher = algorithmOf(aesKey);
  return {
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const sealing = createCipheriv(cipher, aesKey, nonce);
      sealing.setAAD(authenticatedData(context));
      return Buffer.concat([nonce, sealing.update(plain), sealing.final(), sealing.getAuthTag()]);
    },
    open(stored, context) {
      if (stored.length < NONCE_BYTES) {
        throw new EncryptionError("the stored data was shorter than the required size");
      }
      const tagStart = stored.length - TAG_BYTES;
      if (tagStart < NONCE_BYTES) throw new EncryptionError(NOT_AUTHENTIC);
      const opening = createDecipheriv(cipher, aesKey, stored.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      opening.setAAD(authenticatedData(context));
      opening.setAuthTag(stored.subarray(tagStart));
      const plain = opening.update(stored.subarray(NONCE_BYTES, tagStart));
      try {
        opening.final();
      } catch {
        throw new EncryptionError(NOT_AUTHENTIC);
      }
      return { plain, stale: false };
    },
  };
}

const NOT_AUTHENTIC = "cipher: message authentication failed";

function algorithmOf(aesKey: Uint8Array) {
  if (![16, 24, 32].includes(aesKey.length)) {
    throw new EncryptionError(`crypto/aes: invalid key size ${aesKey.length}`);
  }
  return `aes-${(aesKey.length * 8) as 128 | 192 | 256}-gcm` as const;
}

function authenticatedData({ key }: StorageContext): Buffer {
  return Buffer.from(key);
}
