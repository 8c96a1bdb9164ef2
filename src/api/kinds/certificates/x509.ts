/**
 * What the rules of certificate kinds look at in X.509 certificates and requests. Shapes only:
 * whether a signature is right is asked of a `SignatureChecker`, since that takes cryptography.
 */
import { type DerTree, oidText, parseDer } from "#lib/der/read-der.ts";

/** Checks signatures; each answer is a fault in words, or undefined. */
export interface SignatureChecker {
  /** That a PKCS#10 request (DER) was signed with its own key. */
  request(der: Uint8Array): string | undefined;
  /** That `signature` over `message` was made with the key of a SubjectPublicKeyInfo (DER). */
  proof(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): string | undefined;
  /** The public half of a private key in PKCS #8 (DER), as a SubjectPublicKeyInfo (DER). */
  publicHalf(privateKey: Uint8Array): Uint8Array | undefined;
}

export interface PublicKeyFacts {
  readonly algorithm: "RSA" | "ECDSA" | "Ed25519" | "unknown";
  /** `P-256`; only of ECDSA keys. */
  readonly curve?: string;
  /** Rounded up to whole bytes; only of RSA keys. */
  readonly modulusBits?: number;
  /** Equal for equal keys. */
  readonly identity: string;
}

export interface CertificateFacts {
  readonly isCa: boolean;
  readonly hasBasicConstraints: boolean;
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly publicKey: PublicKeyFacts;
}

const SEQUENCE = 0x30;
const BIT_STRING = 0x03;
const INTEGER = 0x02;
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const BASIC_CONSTRAINTS = "2.5.29.19";
const SUBJECT_ALT_NAME = "2.5.29.17";
const EMAIL_NAME = 0x81;
const DNS_NAME = 0x82;

/** Undefined if the bytes are no certificate. */
export function readCertificate(der: Uint8Array): CertificateFacts | undefined {
  const [tbs, algorithm, signature] = parseDer(der)?.children ?? [];
  if (tbs?.tag !== SEQUENCE || algorithm?.tag !== SEQUENCE || signature?.tag !== BIT_STRING) {
    return undefined;
  }
  const fields = tbs.children[0]?.tag === VERSION ? tbs.children.slice(1) : tbs.children;
  const [, , , validity, , keyInfo] = fields;
  const publicKey = keyInfo && readKeyInfo(keyInfo);
  const [notBefore, notAfter] = (validity?.children ?? []).map(timeMs);
  if (publicKey === undefined || notBefore === undefined || notAfter === undefined) {
    return undefined;
  }
  const extensions = extensionsOf(fields);
  const constraints = extensions.get(BASIC_CONSTRAINTS);
  const names = extensions.get(SUBJECT_ALT_NAME)?.children ?? [];
  return {
    isCa: constraints?.children[0]?.content[0] === 0xff,
    hasBasicConstraints: constraints !== undefined,
    dnsNames: names.filter(({ tag }) => tag === DNS_NAME).map(textOf),
    emailAddresses: names.filter(({ tag }) => tag === EMAIL_NAME).map(textOf),
    notBeforeMs: notBefore,
    notAfterMs: notAfter,
    publicKey,
  };
}

/** The key of a PKCS#10 request, or in which words it is no such request. */
export function readCertificateRequest(
  der: Uint8Array,
): { readonly publicKey: PublicKeyFacts } | { readonly fault: string } {
  if (der.length === 0) return { fault: "asn1: syntax error: sequence truncated" };
  const request = parseDer(der);
  if (request === undefined) return { fault: "asn1: syntax error: data truncated" };
  const [info, algorithm, signature] = request.children;
  const [version, subject, keyInfo] = info?.children ?? [];
  const publicKey = keyInfo && readKeyInfo(keyInfo);
  const shaped =
    request.tag === SEQUENCE &&
    info?.tag === SEQUENCE &&
    version?.tag === INTEGER &&
    subject?.tag === SEQUENCE &&
    algorithm?.tag === SEQUENCE &&
    signature?.tag === BIT_STRING;
  if (!shaped || publicKey === undefined) {
    return { fault: "asn1: structure error: tags don't match" };
  }
  return { publicKey };
}

/** The key of a SubjectPublicKeyInfo. */
export function readPublicKey(der: Uint8Array): PublicKeyFacts | undefined {
  const keyInfo = parseDer(der);
  return keyInfo && readKeyInfo(keyInfo);
}

const CURVES: Readonly<Record<string, string>> = {
  "1.3.132.0.33": "P-224",
  "1.2.840.10045.3.1.7": "P-256",
  "1.3.132.0.34": "P-384",
  "1.3.132.0.35": "P-521",
};

function readKeyInfo({ tag, children, content }: DerTree): PublicKeyFacts | undefined {
  const [algorithm, key] = children;
  const [oid, parameters] = algorithm?.children ?? [];
  if (tag !== SEQUENCE || oid === undefined || key?.tag !== BIT_STRING) return undefined;
  const identity = String.fromCharCode(...content);
  switch (oidText(oid)) {
    case "1.2.840.113549.1.1.1": {
      const modulus = parseDer(key.content.subarray(1))?.children[0];
      if (modulus?.tag !== INTEGER) return undefined;
      const start = modulus.content[0] === 0 ? 1 : 0;
      return { algorithm: "RSA", modulusBits: (modulus.content.length - start) * 8, identity };
    }
    case "1.2.840.10045.2.1": {
      const curve = parameters && CURVES[oidText(parameters)];
      return curve === undefined ? undefined : { algorithm: "ECDSA", curve, identity };
    }
    case "1.3.101.112":
      return { algorithm: "Ed25519", identity };
    default:
      return { algorithm: "unknown", identity };
  }
}

function extensionsOf(fields: readonly DerTree[]): ReadonlyMap<string, DerTree> {
  const list = fields.find(({ tag }) => tag === EXTENSIONS)?.children[0]?.children ?? [];
  const found = new Map<string, DerTree>();
  for (const { children } of list) {
    const [oid] = children;
    const value = parseDer(children.at(-1)?.content ?? new Uint8Array());
    if (oid !== undefined && value !== undefined) found.set(oidText(oid), value);
  }
  return found;
}

function textOf({ content }: DerTree): string {
  return new TextDecoder().decode(content);
}

const UTC_TIME = 0x17;

/** UTCTime (two digits of the year) or GeneralizedTime. */
function timeMs(value: DerTree): number | undefined {
  const text = textOf(value);
  const digits =
    value.tag === UTC_TIME ? `${Number(text.slice(0, 2)) < 50 ? 20 : 19}${text}` : text;
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
