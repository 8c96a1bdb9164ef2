/** AES-CBC with a random 16-byte IV in front and PKCS#7 padding. Nothing is authenticated. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { EncryptionError, type Transformer } from "./transformer.ts";

const BLOCK_BYTES = 16;

/** The AES key has 16, 24 or 32 bytes. */
export function createAesCbc(aesKey: Uint8Array): Transformer {
  const cipher = `aes-${aesKey.length * 8}-cbc`;
  return {
    seal(plain) {
      const iv = randomBytes(BLOCK_BYTES);
      const sealing = createCipheriv(cipher, aesKey, iv);
      return Buffer.concat([iv, sealing.update(plain), sealing.final()]);
    },
    open(stored) {
      if (stored.length < BLOCK_BYTES) {
        throw new EncryptionError("the stored data was shorter than the required size");
      }
      const sealed = stored.subarray(BLOCK_BYTES);
      if (sealed.length % BLOCK_BYTES !== 0) {
        throw new EncryptionError("the stored data is not a multiple of the block size");
      }
      const opening = createDecipheriv(cipher, aesKey, stored.subarray(0, BLOCK_BYTES));
      opening.setAutoPadding(false); // checked here, for upstream's words
      const padded = Buffer.concat([opening.update(sealed), opening.final()]);
      return { plain: withoutPadding(padded), stale: false };
    },
  };
}

function withoutPadding(padded: Buffer): Buffer {
  const count = padded.at(-1) ?? 0;
  if (count === 0 || count > padded.length) {
    throw new EncryptionError("invalid PKCS7 data (empty or not padded)");
  }
  const end = padded.length - count;
  if (!padded.subarray(end).every((byte) => byte === count)) {
    throw new EncryptionError("invalid padding on input");
  }
  return padded.subarray(0, end);
}
