/**
 * Signed tokens in their compact form: header.payload.signature.
 *
 * Promises:
 * 1. A token is believed only after its signature was checked with a key that was handed in, by the
 *    algorithm that belongs to that key: the token cannot choose a weaker one.
 * 2. What was verified once is not verified again as long as it is among the `VERIFIED_MAX` tokens
 *    used last. Times, audiences and objects are the caller's to check, every time.
 */

import {
  constants,
  createHash,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  sign,
  type VerifyKeyObjectInput,
  verify,
} from "node:crypto";
import { parseForeignJson } from "#lib/json/forged-keys.ts";

export type Claims = Readonly<Record<string, unknown>>;

export interface DecodedToken {
  readonly header: Claims;
  readonly claims: Claims;
  /** What was signed, and the signature. */
  readonly signed: Buffer;
  readonly signature: Buffer;
}

export interface VerificationKey {
  readonly id: string;
  readonly algorithm: string;
  readonly key: KeyObject;
}

const VERIFIED_MAX = 8192;
const TOKEN_LENGTH_MAX = 64 * 1024;

/** Takes a token apart without believing it; undefined if it is none. */
export function decodeToken(token: string): DecodedToken | undefined {
  if (token.length > TOKEN_LENGTH_MAX) return undefined;
  const [header = "", payload = "", signature = "", ...rest] = token.split(".");
  if (rest.length > 0 || !isBase64Url(signature)) return undefined;
  const headerClaims = decodeJson(header);
  const claims = decodeJson(payload);
  if (headerClaims === undefined || claims === undefined) return undefined;
  if (![claims.exp, claims.nbf, claims.iat].every(isNumericDate)) return undefined;
  return {
    header: headerClaims,
    claims,
    signed: Buffer.from(`${header}.${payload}`, "latin1"),
    signature: Buffer.from(signature, "base64url"),
  };
}

export function signToken(claims: Claims, key: KeyObject): string {
  const { id, algorithm } = verificationKey(createPublicKey(key));
  const encode = (value: Claims): string =>
    Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encode({ alg: algorithm, kid: id })}.${encode(claims)}`;
  const signature = sign(hashOf(algorithm), Buffer.from(signed), withEncoding(key, algorithm));
  return `${signed}.${signature.toString("base64url")}`;
}

/** The key id is a hash of the public key. */
export function verificationKey(key: KeyObject): VerificationKey {
  const bytes = key.export({ type: "spki", format: "der" });
  const id = createHash("sha256").update(bytes).digest("base64url");
  return { id, algorithm: algorithmOf(key), key };
}

/** The key as a JSON Web Key. */
export function publicJwk({ id, algorithm, key }: VerificationKey): JsonWebKey {
  const { kty, ...parameters } = key.export({ format: "jwk" });
  return { use: "sig", kty: kty!, kid: id, alg: algorithm, ...parameters };
}

export function isSignedWith(token: DecodedToken, { key, algorithm }: VerificationKey): boolean {
  if (token.header.alg !== algorithm || token.header.crit !== undefined) return false;
  if (!algorithmFits(algorithm, key)) return false;
  return verify(hashOf(algorithm), token.signed, withEncoding(key, algorithm), token.signature);
}

/** Remembers what was found out about tokens, forgetting those used longest ago. */
export class TokenMemory<T> {
  readonly #known = new Map<string, T>();

  get(token: string): T | undefined {
    const value = this.#known.get(token);
    if (value === undefined) return undefined;
    this.#known.delete(token);
    this.#known.set(token, value);
    return value;
  }

  set(token: string, value: T): void {
    if (this.#known.size >= VERIFIED_MAX) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(token, value);
  }
}

export function stringClaim(claims: Claims, name: string): string {
  const value = claims[name];
  return typeof value === "string" ? value : "";
}

/** A claim that may be one text or a list of them. */
export function listClaim(claims: Claims, name: string): readonly string[] {
  const value = claims[name];
  const values = Array.isArray(value) ? value : [value];
  return values.filter((one) => typeof one === "string");
}

/** Clocks of issuer and server may differ by this much. */
const LEEWAY_SECONDS = 60;

export type Timeliness = "valid" | "expired" | "early" | "future";

export function timeliness(claims: Claims, nowMs: number): Timeliness {
  const nowSeconds = nowMs / 1000;
  const { exp, nbf, iat } = claims;
  if (typeof nbf === "number" && nowSeconds + LEEWAY_SECONDS < nbf) return "early";
  if (typeof exp === "number" && nowSeconds - LEEWAY_SECONDS > exp) return "expired";
  return typeof iat === "number" && nowSeconds + LEEWAY_SECONDS < iat ? "future" : "valid";
}

/** Base64url without padding. One character more than a multiple of four encodes no whole byte. */
function isBase64Url(text: string): boolean {
  return text.length % 4 !== 1 && /^[A-Za-z0-9_-]+$/.test(text);
}

/** Absent, or seconds since 1970. A date of another type would otherwise never expire. */
function isNumericDate(value: unknown): boolean {
  return value === undefined || value === null || Number.isFinite(value);
}

function decodeJson(text: string): Claims | undefined {
  if (!isBase64Url(text)) return undefined;
  try {
    const value: unknown = parseForeignJson(Buffer.from(text, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Claims)
      : undefined;
  } catch {
    return undefined;
  }
}

const CURVE_ALGORITHMS: Readonly<Record<string, string>> = {
  prime256v1: "ES256",
  secp384r1: "ES384",
  secp521r1: "ES512",
};

function algorithmOf(key: KeyObject): string {
  if (key.asymmetricKeyType === "rsa") return "RS256";
  const algorithm = CURVE_ALGORITHMS[key.asymmetricKeyDetails?.namedCurve ?? ""];
  if (algorithm === undefined) throw new Error("tokens are signed with RSA or NIST curves only");
  return algorithm;
}

function algorithmFits(algorithm: string, key: KeyObject): boolean {
  const family = algorithm.slice(0, 2);
  return key.asymmetricKeyType === "rsa"
    ? (family === "RS" || family === "PS") && /^..(256|384|512)$/.test(algorithm)
    : algorithm === algorithmOf(key);
}

function hashOf(algorithm: string): string {
  return `sha${algorithm.slice(2)}`;
}

function withEncoding(key: KeyObject, algorithm: string): VerifyKeyObjectInput {
  switch (algorithm.slice(0, 2)) {
    case "ES":
      // The two halves of an elliptic signature stand side by side in tokens, not in DER.
      return { key, dsaEncoding: "ieee-p1363" };
    case "PS":
      return {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      };
    default:
      return { key };
  }
}
