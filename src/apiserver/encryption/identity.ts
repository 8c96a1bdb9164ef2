/** Stores values as they are, and refuses to take encrypted ones for plain. */
import { EncryptionError, isEncrypted, type Transformer } from "./transformer.ts";

export const READ_ENCRYPTED = "identity transformer tried to read encrypted data";

export const identityTransformer: Transformer = {
  seal: (plain) => plain,
  open(stored) {
    if (isEncrypted(stored)) throw new EncryptionError(READ_ENCRYPTED);
    return { plain: stored, stale: false };
  },
};
