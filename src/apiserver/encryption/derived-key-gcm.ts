/**
 * AES-GCM with a new key for every value: 32 random bytes stand in front, and the key is
 * HKDF-Expand-SHA256(seed, those bytes). So one seed may encrypt any number of values.
 */
import { createHmac, randomBytes } from "node:crypto";
import { createAesGcm } from "./aes-gcm.ts";
import { EncryptionError, type Transformer } from "./transformer.ts";

const INFO_BYTES = 32;
export const SEED_BYTES = 32;

export function createDerivedKeyGcm(seed: Uint8Array): Transformer {
  if (seed.length < SEED_BYTES) {
    throw new EncryptionError(`invalid seed length ${seed.length} used for key generation`);
  }
  return {
    seal(plain, context) {
      const info = randomBytes(INFO_BYTES);
      return Buffer.concat([info, createAesGcm(derivedKey(seed, info)).seal(plain, context)]);
    },
    open(stored, context) {
      if (stored.length < INFO_BYTES) {
        throw new EncryptionError("the stored data was shorter than the required size");
      }
      const cipher = createAesGcm(derivedKey(seed, stored.subarray(0, INFO_BYTES)));
      return cipher.open(stored.subarray(INFO_BYTES), context);
    },
  };
}

/** The first 32 bytes of HKDF's output are its first block: HMAC(seed, info ‖ 1). */
function derivedKey(seed: Uint8Array, info: Uint8Array): Buffer {
  return createHmac("sha256", seed).update(info).update(Buffer.of(1)).digest();
}
