/** NaCl's secretbox: XSalsa20 and Poly1305 with a random 24-byte nonce in front. */
import { randomBytes } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import { EncryptionError, type Transformer } from "./transformer.ts";

const NONCE_BYTES = 24;
const TAG_BYTES = 16;

/** The key has 32 bytes. */
export function createSecretbox(key: Uint8Array): Transformer {
  return {
    seal(plain) {
      const nonce = randomBytes(NONCE_BYTES);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(plain)]);
    },
    open(stored) {
      if (stored.length < NONCE_BYTES + TAG_BYTES) {
        throw new EncryptionError("the stored data was shorter than the required size");
      }
      const box = xsalsa20poly1305(key, stored.subarray(0, NONCE_BYTES));
      try {
        return { plain: box.decrypt(stored.subarray(NONCE_BYTES)), stale: false };
      } catch {
        throw new EncryptionError("output array was not large enough for encryption");
      }
    },
  };
}
