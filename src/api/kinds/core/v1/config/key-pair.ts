/**
 * Whether a certificate and a private key, both PEM, belong together: what a TLS server would say
 * on being started with them. Signatures are not checked, only shapes and the equality of keys.
 * An Ed25519 private key does not hold its public key: without a SignatureChecker any two of them fit.
 */
import type { SignatureChecker } from "#api/kinds/certificates/x509.ts";
import { type PemBlock, parsePem } from "#lib/der/pem.ts";
import { type DerTree, oidText, parseDer } from "#lib/der/read-der.ts";

/** A public key: its algorithm and the bytes that identify it. */
interface PublicKey {
  readonly algorithm: "RSA" | "EC" | "Ed25519" | "other";
  readonly identity: string | undefined;
}

/** The first fault, in the server's words; undefined if the two fit. */
export function keyPairFault(
  certificatePem: string,
  keyPem: string,
  signatures?: Pick<SignatureChecker, "publicHalf">,
): string | undefined {
  const certificates = parsePem(certificatePem);
  const certificate = certificates.find(({ type }) => type === "CERTIFICATE");
  if (certificate === undefined) return certificateMissing(certificates);

  const keys = parsePem(keyPem);
  const key = keys.find(({ type }) => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY"));
  if (key === undefined) return keyMissing(keys);

  const publicKey = readCertificate(certificate.bytes);
  if (publicKey === undefined) return "x509: malformed certificate";
  const privateKey = readPrivateKey(key.bytes, signatures);
  if (privateKey === undefined) return "tls: failed to parse private key";
  if (publicKey.algorithm === "other") return "tls: unknown public key algorithm";
  if (privateKey.algorithm !== publicKey.algorithm) {
    return "tls: private key type does not match public key type";
  }
  const comparable = privateKey.identity !== undefined && publicKey.identity !== undefined;
  if (comparable && privateKey.identity !== publicKey.identity) {
    return "tls: private key does not match public key";
  }
  return undefined;
}

function certificateMissing(found: readonly PemBlock[]): string {
  if (found.length === 0) return "tls: failed to find any PEM data in certificate input";
  if (found.length === 1 && found[0]!.type.endsWith("PRIVATE KEY")) {
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched";
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: ${typesOf(found)}`;
}

function keyMissing(found: readonly PemBlock[]): string {
  if (found.length === 0) return "tls: failed to find any PEM data in key input";
  if (found.length === 1 && found[0]!.type === "CERTIFICATE") {
    return "tls: found a certificate rather than a key in the PEM for the private key";
  }
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: ${typesOf(found)}`;
}

function typesOf(blocks: readonly PemBlock[]): string {
  return `[${blocks.map(({ type }) => type).join(" ")}]`;
}

/** The public key of an X.509 certificate. */
function readCertificate(bytes: Uint8Array): PublicKey | undefined {
  const tbs = parseDer(bytes)?.children[0];
  if (tbs === undefined) return undefined;
  const versioned = tbs.children[0]?.tag === VERSION_TAG ? 1 : 0;
  const info = tbs.children[versioned + 5]; // serial, signature, issuer, validity, subject, key
  const algorithm = info?.children[0]?.children[0];
  const bits = info?.children[1];
  if (algorithm === undefined || bits === undefined) return undefined;
  return publicKeyOf(oidText(algorithm), bits.content.subarray(1));
}

function publicKeyOf(algorithm: string, bits: Uint8Array): PublicKey {
  switch (algorithm) {
    case RSA:
      return { algorithm: "RSA", identity: hex(parseDer(bits)?.children[0]) };
    case EC:
      return { algorithm: "EC", identity: hexBytes(bits) };
    case ED25519:
      return { algorithm: "Ed25519", identity: hexBytes(bits) };
    default:
      return { algorithm: "other", identity: undefined };
  }
}

/** A private key in PKCS #8, PKCS #1 or SEC 1. */
function readPrivateKey(
  bytes: Uint8Array,
  signatures: Pick<SignatureChecker, "publicHalf"> | undefined,
): PublicKey | undefined {
  const key = parseDer(bytes);
  if (key === undefined) return undefined;
  const [version, second, third] = key.children;
  if (version === undefined || second === undefined) return undefined;
  if (second.tag === INTEGER_TAG) return { algorithm: "RSA", identity: hex(second) };
  if (second.tag === OCTET_STRING_TAG) {
    return ecKey(key, key.children.find(({ tag }) => tag === EC_CURVE_TAG)?.children[0]);
  }
  const algorithm = second.children[0];
  const inner = third === undefined ? undefined : parseDer(third.content);
  if (algorithm === undefined || inner === undefined) return undefined;
  switch (oidText(algorithm)) {
    case RSA:
      return { algorithm: "RSA", identity: hex(inner.children[1]) };
    case EC:
      return ecKey(inner, second.children[1]);
    case ED25519:
      return { algorithm: "Ed25519", identity: ed25519Identity(signatures?.publicHalf(bytes)) };
    default:
      return undefined;
  }
}

/** The 32 bytes at the end of its SubjectPublicKeyInfo. */
function ed25519Identity(publicHalf: Uint8Array | undefined): string | undefined {
  return publicHalf === undefined ? undefined : hexBytes(publicHalf.subarray(-32));
}

/** The public half is an optional part of the private key; without it there is nothing to compare. */
function ecKey(key: DerTree, curve: DerTree | undefined): PublicKey | undefined {
  if (curve === undefined || !CURVES.includes(oidText(curve))) return undefined;
  const publicPart = key.children.find(({ tag }) => tag === EC_PUBLIC_TAG)?.children[0];
  return {
    algorithm: "EC",
    identity: publicPart === undefined ? undefined : hexBytes(publicPart.content.subarray(1)),
  };
}

const VERSION_TAG = 0xa0;
const EC_CURVE_TAG = 0xa0;
const EC_PUBLIC_TAG = 0xa1;
const INTEGER_TAG = 0x02;
const OCTET_STRING_TAG = 0x04;
const RSA = "1.2.840.113549.1.1.1";
const EC = "1.2.840.10045.2.1";
const ED25519 = "1.3.101.112";
/** P-224, P-256, P-384, P-521. */
const CURVES = ["1.3.132.0.33", "1.2.840.10045.3.1.7", "1.3.132.0.34", "1.3.132.0.35"];

function hex(value: DerTree | undefined): string | undefined {
  return value === undefined ? undefined : hexBytes(value.content);
}

function hexBytes(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
