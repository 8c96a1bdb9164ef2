/**
 * Issues X.509 v3 certificates. Written by hand on top of node:crypto, because loading a general
 * library costs more than the whole rest of the first start.
 */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from "node:crypto";
import { fromPem, toPem } from "#lib/der/pem.ts";
import { childrenOf, readBits, readDer } from "#lib/der/read-der.ts";
import { der } from "#lib/der/write-der.ts";
import { tryIpBytes } from "./ip-bytes.ts";
import { type KeyUsage, purposes, usageBits } from "./key-usage.ts";
import { certificateSubject, encodeSubject, type Subject } from "./subject.ts";

export interface CertificateRequest {
  /** A buffer holds a name as it was read from elsewhere. */
  readonly subject: Subject | Buffer;
  readonly publicKey: KeyObject;
  readonly usages: readonly KeyUsage[];
  /** DNS names and addresses; a buffer holds a name as it was read from elsewhere. */
  readonly altNames?: readonly (string | Buffer)[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly authority?: boolean;
}

/** Who signs; without a certificate the request signs itself. */
export interface Signer {
  readonly key: KeyObject;
  readonly certificatePem?: string;
}

export function issueCertificate(request: CertificateRequest, signer: Signer): string {
  const algorithm = signatureAlgorithm(signer.key);
  const subject = Buffer.isBuffer(request.subject)
    ? request.subject
    : encodeSubject(request.subject);
  const issuer = signer.certificatePem
    ? certificateSubject(fromPem(signer.certificatePem)).bytes
    : subject;
  const publicKey = request.publicKey.export({ type: "spki", format: "der" });
  const signed = der.sequence(
    der.explicit(0, der.integer(2)),
    der.integer(randomSerial()),
    algorithm,
    issuer,
    der.sequence(der.time(request.notBeforeMs), der.time(request.notAfterMs)),
    subject,
    publicKey,
    der.explicit(3, der.sequence(...extensions(request, publicKey, signer))),
  );
  const signature = sign("sha256", signed, signer.key);
  return toPem("CERTIFICATE", der.sequence(signed, algorithm, der.bits(signature)));
}

function extensions(request: CertificateRequest, publicKey: Buffer, signer: Signer): Buffer[] {
  const bits = usageBits(request.usages);
  const extended = purposes(request.usages);
  const altNames = request.altNames ?? [];
  const signerKey = publicKeyDer(signer.key);
  return [
    bits === undefined ? undefined : extension("2.5.29.15", true, bits),
    extended === undefined ? undefined : extension("2.5.29.37", false, extended),
    extension("2.5.29.19", true, der.sequence(...(request.authority ? [der.boolean(true)] : []))),
    extension("2.5.29.14", false, der.octets(keyId(publicKey))),
    extension("2.5.29.35", false, der.sequence(der.implicit(0, keyId(signerKey)))),
    altNames.length > 0
      ? extension("2.5.29.17", false, der.sequence(...altNames.map(altName)))
      : undefined,
  ].filter((value) => value !== undefined);
}

function extension(oid: string, critical: boolean, value: Buffer): Buffer {
  return der.sequence(der.oid(oid), ...(critical ? [der.boolean(true)] : []), der.octets(value));
}

export function altName(name: string | Buffer): Buffer {
  if (Buffer.isBuffer(name)) return name;
  const address = tryIpBytes(name);
  return address === undefined
    ? der.implicit(2, Buffer.from(name, "latin1"))
    : der.implicit(7, address);
}

export function signatureAlgorithm(key: KeyObject): Buffer {
  switch (key.asymmetricKeyType) {
    case "ec":
      return der.sequence(der.oid("1.2.840.10045.4.3.2"));
    case "rsa":
      return der.sequence(der.oid("1.2.840.113549.1.1.11"), der.null());
    case "ed25519":
      return der.sequence(der.oid("1.3.101.112"));
    default:
      throw new Error(`cannot sign certificates with a key of type ${key.asymmetricKeyType}`);
  }
}

function publicKeyDer(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

/** SHA-1 of the key's bits, as RFC 5280 suggests; a name, not a protection. */
function keyId(publicKey: Buffer): Buffer {
  const [, bits] = childrenOf(readDer(publicKey));
  return createHash("sha1").update(readBits(bits!)).digest();
}

/** Positive, 63 bits, so that every reader can hold it. */
function randomSerial(): Buffer {
  const serial = randomBytes(8);
  serial[0] = (serial[0]! & 0x7f) | 0x01;
  return serial;
}
