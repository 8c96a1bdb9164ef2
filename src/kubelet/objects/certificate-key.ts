/** Keys of pod certificates, by the names of the types that a podCertificate source may ask for. */
import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { goQuote } from "#api/meta/go-quote.ts";
import { createRequestDer } from "#pki/certificate-request.ts";
import { privateKeyPem } from "#pki/key-pair.ts";

const generate = promisify(generateKeyPair);

const KEY_TYPES: Readonly<Record<string, () => Promise<{ readonly privateKey: KeyObject }>>> = {
  RSA3072: () => generate("rsa", { modulusLength: 3072 }),
  RSA4096: () => generate("rsa", { modulusLength: 4096 }),
  ECDSAP256: () => generate("ec", { namedCurve: "P-256" }),
  ECDSAP384: () => generate("ec", { namedCurve: "P-384" }),
  ECDSAP521: () => generate("ec", { namedCurve: "P-521" }),
  ED25519: () => generate("ed25519"),
};

export interface KeyWithProof {
  readonly keyPem: string;
  /** An empty PKCS#10 request, signed with the key: it proves possession. Base64. */
  readonly request: string;
}

/** Keys are made off the event loop: RSA takes seconds. */
export async function createKeyWithProof(keyType: string): Promise<KeyWithProof> {
  const make = Object.hasOwn(KEY_TYPES, keyType) ? KEY_TYPES[keyType] : undefined;
  if (make === undefined) {
    throw new Error(`while generating keypair: unknown key type ${goQuote(keyType)}`);
  }
  const { privateKey } = await make();
  const request = createRequestDer({}, [], privateKey).toString("base64");
  return { keyPem: privateKeyPem(privateKey), request };
}
