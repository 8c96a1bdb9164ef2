/** Signatures and keys in certificates and requests, checked with the machine's own cryptography. */
import { constants, createPrivateKey, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { SignatureChecker } from "#api/kinds/certificates/x509.ts";
import { messageOf } from "#lib/caught.ts";
import { childrenOf, readBits, readDer, readOid } from "#lib/der/read-der.ts";

export const signatures: SignatureChecker = {
  request: (der) => {
    try {
      return requestFault(Buffer.from(der));
    } catch (error) {
      return messageOf(error);
    }
  },
  proof: (publicKey, message, signature) => {
    try {
      return proves(readKey(Buffer.from(publicKey)), message, signature)
        ? undefined
        : "the signature was not made with this key";
    } catch (error) {
      return messageOf(error);
    }
  },
  publicHalf: (privateKey) => {
    try {
      const key = createPrivateKey({ key: Buffer.from(privateKey), format: "der", type: "pkcs8" });
      return createPublicKey(key).export({ format: "der", type: "spki" });
    } catch {
      return undefined;
    }
  },
};

interface Algorithm {
  readonly key: "rsa" | "ec" | "ed25519";
  /** Null where the algorithm brings its own. */
  readonly hash: string | null;
}

const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  "1.2.840.113549.1.1.5": { key: "rsa", hash: "sha1" },
  "1.2.840.113549.1.1.11": { key: "rsa", hash: "sha256" },
  "1.2.840.113549.1.1.12": { key: "rsa", hash: "sha384" },
  "1.2.840.113549.1.1.13": { key: "rsa", hash: "sha512" },
  "1.2.840.10045.4.1": { key: "ec", hash: "sha1" },
  "1.2.840.10045.4.3.2": { key: "ec", hash: "sha256" },
  "1.2.840.10045.4.3.3": { key: "ec", hash: "sha384" },
  "1.2.840.10045.4.3.4": { key: "ec", hash: "sha512" },
  "1.3.101.112": { key: "ed25519", hash: null },
};

const FAULTS: Readonly<Record<Algorithm["key"], string>> = {
  rsa: "crypto/rsa: verification error",
  ec: "x509: ECDSA verification failure",
  ed25519: "x509: Ed25519 verification failure",
};

/** A PKCS#10 request is what is signed, the algorithm, and the signature. */
function requestFault(der: Buffer): string | undefined {
  const [info, algorithmInfo, signature] = childrenOf(readDer(der));
  const [, , keyInfo] = childrenOf(info!);
  const algorithm = ALGORITHMS[readOid(childrenOf(algorithmInfo!)[0]!)];
  const key = readKey(keyInfo!.bytes);
  if (algorithm === undefined || key.asymmetricKeyType !== algorithm.key) {
    return "x509: cannot verify signature: algorithm unimplemented";
  }
  const right = verify(algorithm.hash, info!.bytes, key, readBits(signature!));
  return right ? undefined : FAULTS[algorithm.key];
}

function proves(key: KeyObject, message: Uint8Array, signature: Uint8Array): boolean {
  switch (key.asymmetricKeyType) {
    case "ed25519":
      return verify(null, message, key, signature);
    case "rsa": {
      const padding = constants.RSA_PKCS1_PSS_PADDING;
      return verify("sha256", message, { key, padding }, signature);
    }
    default:
      return verify("sha256", message, key, signature);
  }
}

function readKey(keyInfo: Buffer): KeyObject {
  return createPublicKey({ key: keyInfo, format: "der", type: "spki" });
}
