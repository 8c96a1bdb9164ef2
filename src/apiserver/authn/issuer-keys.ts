/**
 * The keys with which an OpenID Connect issuer signs, found by its discovery document.
 *
 * Promises:
 * 1. The issuer is asked when the first token comes, and again when none of its known keys made a
 *    signature (it may have a new one), but at most every `REFRESH_MIN_MS`; requests meanwhile share
 *    one answer.
 * 2. A key is used only for the algorithms that belong to it, and only for those that are wanted.
 */
import { createPublicKey, type JsonWebKey } from "node:crypto";
import type { Clock } from "#lib/time/clock.ts";
import { goStrings } from "../authz/rule.ts";
import {
  type Claims,
  type DecodedToken,
  isSignedWith,
  stringClaim,
  type VerificationKey,
} from "./jwt.ts";

export interface IssuerOptions {
  readonly issuerUrl: string;
  /** Where the discovery document is, if not where the issuer says by its name. */
  readonly discoveryUrl?: string;
  readonly signingAlgorithms: readonly string[];
  readonly clock: Pick<Clock, "nowMs">;
  readonly fetchText: FetchText;
}

/** GETs a text over HTTPS; throws for every answer but a good one. */
export type FetchText = (url: string, bearer?: string) => Promise<string>;

const REFRESH_MIN_MS = 1_000;
const NOT_SIGNED = "failed to verify signature: failed to verify id token signature";

export class IssuerKeys {
  readonly #options: IssuerOptions;
  #keys: readonly JsonWebKey[] = [];
  #keysUrl: string | undefined;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor(options: IssuerOptions) {
    this.#options = options;
  }

  /** Resolves when the issuer has said where its keys are; rejects if it cannot be asked. */
  async ready(): Promise<void> {
    this.#keysUrl ??= await this.#discover();
  }

  /** Undefined if the token was signed by the issuer. */
  async signatureFault(token: DecodedToken): Promise<string | undefined> {
    const algorithm = stringClaim(token.header, "alg");
    const { signingAlgorithms } = this.#options;
    if (!signingAlgorithms.includes(algorithm)) {
      const expected = goStrings(signingAlgorithms);
      return `verify token: oidc: id token signed with unsupported algorithm, expected ${expected} got "${algorithm}"`;
    }
    if (this.#isSigned(token, algorithm)) return undefined;
    await this.#refresh();
    if (this.#keysUrl === undefined) return "authenticator not initialized";
    return this.#isSigned(token, algorithm) ? undefined : `verify token: ${NOT_SIGNED}`;
  }

  #isSigned(token: DecodedToken, algorithm: string): boolean {
    const id = stringClaim(token.header, "kid");
    return this.#keys.some((jwk) => {
      if (id !== "" && jwk.kid !== id) return false;
      const key = readKey(jwk, algorithm);
      return key !== undefined && isSignedWith(token, key);
    });
  }

  /** If the fetch fails, the known keys are kept. */
  async #refresh(): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    if (this.#fetching === undefined && nowMs - this.#fetchedAtMs < REFRESH_MIN_MS) return;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    await this.#fetching.catch(() => undefined);
  }

  async #fetch(): Promise<void> {
    this.#fetchedAtMs = this.#options.clock.nowMs();
    const { fetchText } = this.#options;
    this.#keysUrl ??= await this.#discover();
    const { keys } = JSON.parse(await fetchText(this.#keysUrl)) as { keys?: JsonWebKey[] };
    this.#keys = keys ?? [];
  }

  async #discover(): Promise<string> {
    const { issuerUrl, discoveryUrl, fetchText } = this.#options;
    const own = `${issuerUrl.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const document = JSON.parse(await fetchText(discoveryUrl ?? own)) as Claims;
    if (document.issuer !== issuerUrl) throw new Error("the issuer says that it is another one");
    return stringClaim(document, "jwks_uri");
  }
}

/** Undefined for a key that cannot be used. */
function readKey(jwk: JsonWebKey, algorithm: string): VerificationKey | undefined {
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return { id: String(jwk.kid ?? ""), algorithm, key };
  } catch {
    return undefined;
  }
}
