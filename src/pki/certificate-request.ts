/** Certificate requests (PKCS#10): made for a key, and granted by an authority. */
import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { toPem } from "#lib/der/pem.ts";
import { childrenOf, type DerValue, readBits, readDer, readOid } from "#lib/der/read-der.ts";
import { der } from "#lib/der/write-der.ts";
import { altName, issueCertificate, type Signer, signatureAlgorithm } from "./certificate.ts";
import { parseCertificate } from "./key-pair.ts";
import { isKeyUsage } from "./key-usage.ts";
import { encodeSubject, type Subject } from "./subject.ts";

const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";
const SUBJECT_ALT_NAME = "2.5.29.17";
/** Email, DNS, URI and IP address; names of other kinds are dropped. */
const ALT_NAME_TAGS: ReadonlySet<number> = new Set([0x81, 0x82, 0x86, 0x87]);
const HASHES: Readonly<Record<string, string | null>> = {
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.3.101.112": null, // Ed25519 has its own
};
const BACKDATE_MS = 5 * 60_000;
/** Shorter lives get their whole length; of longer ones the back-dating is a part. */
const SHORT_MS = 8 * 3_600_000;

export interface Grant {
  /** The request in DER form. */
  readonly der: Uint8Array;
  readonly usages: readonly string[];
  readonly lifetimeMs: number;
}

/** A request in PEM form, signed with its own key. */
export function createRequest(
  subject: Subject,
  altNames: readonly string[],
  privateKey: KeyObject,
): string {
  return toPem("CERTIFICATE REQUEST", createRequestDer(subject, altNames, privateKey));
}

/** The same in DER form. Without a common name and organizations the subject is empty. */
export function createRequestDer(
  subject: Partial<Subject>,
  altNames: readonly string[],
  privateKey: KeyObject,
): Buffer {
  const names = der.sequence(...altNames.map(altName));
  const extension = der.sequence(der.oid(SUBJECT_ALT_NAME), der.octets(names));
  const attribute = der.sequence(der.oid(EXTENSION_REQUEST), der.set(der.sequence(extension)));
  const info = der.sequence(
    der.integer(0),
    encodeSubject(subject),
    createPublicKey(privateKey).export({ type: "spki", format: "der" }),
    der.explicit(0, ...(altNames.length === 0 ? [] : [attribute])),
  );
  const hash = privateKey.asymmetricKeyType === "ed25519" ? null : "sha256";
  const signature = der.bits(sign(hash, info, privateKey));
  return der.sequence(info, signatureAlgorithm(privateKey), signature);
}

/**
 * A certificate with the request's subject, names and key, never one of an authority. It ends with
 * the authority's own at the latest. Throws if the request is not signed with its own key.
 */
export function grantRequest(grant: Grant, signer: Required<Signer>, nowMs: number): string {
  const { subject, publicKey, altNames } = readRequest(Buffer.from(grant.der));
  const signerEndsMs = Date.parse(parseCertificate(signer.certificatePem, "the signer").validTo);
  if (nowMs >= signerEndsMs) throw new Error("the signer has expired");
  const unknown = grant.usages.filter((usage) => !isKeyUsage(usage));
  if (unknown.length > 0) throw new Error(`unrecognized usage values: ${JSON.stringify(unknown)}`);
  const lifetimeMs = grant.lifetimeMs - (grant.lifetimeMs < SHORT_MS ? 0 : BACKDATE_MS);
  return issueCertificate(
    {
      subject,
      publicKey,
      usages: grant.usages.filter(isKeyUsage),
      altNames,
      notBeforeMs: nowMs - BACKDATE_MS,
      notAfterMs: Math.min(nowMs + lifetimeMs, signerEndsMs),
    },
    signer,
  );
}

interface Read {
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly altNames: readonly Buffer[];
}

function readRequest(bytes: Buffer): Read {
  const [info, algorithm, signature] = childrenOf(readDer(bytes));
  const [, subject, keyInfo, ...rest] = childrenOf(info!);
  const publicKey = createPublicKey({ key: keyInfo!.bytes, type: "spki", format: "der" });
  const hash = HASHES[readOid(childrenOf(algorithm!)[0]!)];
  if (hash === undefined || !verify(hash, info!.bytes, publicKey, readBits(signature!))) {
    throw new Error("the certificate request is not signed with its own key");
  }
  return { subject: subject!.bytes, publicKey, altNames: altNamesOf(rest) };
}

function altNamesOf(attributes: readonly DerValue<Buffer>[]): readonly Buffer[] {
  const extensions = attributes
    .flatMap(childrenOf)
    .map(childrenOf)
    .filter(([oid]) => oid !== undefined && readOid(oid) === EXTENSION_REQUEST)
    .flatMap(([, values]) => childrenOf(values!).flatMap(childrenOf));
  return extensions
    .map(childrenOf)
    .filter(([oid]) => oid !== undefined && readOid(oid) === SUBJECT_ALT_NAME)
    .flatMap((parts) => childrenOf(readDer(parts.at(-1)!.content)))
    .filter(({ tag }) => ALT_NAME_TAGS.has(tag))
    .map(({ bytes: name }) => name);
}
