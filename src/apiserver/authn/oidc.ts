/**
 * Tokens of an OpenID Connect issuer (`--oidc-…`).
 *
 * Promises:
 * 1. The issuer is asked for its keys when the first token comes, and again for a key that is not
 *    known yet, but not more often than every `REFRESH_MIN_MS`; requests meanwhile share one answer.
 * 2. Signatures are remembered; times and audiences are checked for every request.
 */
import { createPublicKey, type JsonWebKey } from "node:crypto";
import type { Clock } from "#lib/clock.ts";
import { goStrings } from "../authz/rule.ts";
import type { User } from "../request.ts";
import type { Authentication } from "./authenticator.ts";
import {
  type Claims,
  type DecodedToken,
  decodeToken,
  isSignedWith,
  listClaim,
  stringClaim,
  TokenMemory,
  timeliness,
  type VerificationKey,
} from "./jwt.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";
import { authenticated, CREDENTIAL_ID } from "./users.ts";

export interface OidcOptions {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly usernameClaim: string;
  /** Put before user names; "-" for nothing, `ISSUER#` unless given (nothing for e-mail addresses). */
  readonly usernamePrefix?: string;
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  readonly signingAlgorithms: readonly string[];
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly clock: Pick<Clock, "nowMs">;
  /** GETs a JSON document over HTTPS. */
  fetchJson(url: string): Promise<unknown>;
}

const REFRESH_MIN_MS = 10_000;

export function createOidcAuthenticator(options: OidcOptions): TokenAuthenticator {
  const keys = new IssuerKeys(options);
  const memory = new TokenMemory<{ readonly claims: Claims; readonly user: User }>();

  const verifyNew = async (token: string, decoded: DecodedToken): Promise<Authentication> => {
    const fault = await keys.signatureFault(decoded);
    if (fault !== undefined) return refuse(`oidc: ${fault}`);
    const user = userOf(decoded.claims, options);
    if (typeof user === "string") return refuse(`oidc: ${user}`);
    const checked = check(decoded.claims, user);
    if (checked.outcome === "known") memory.set(token, { claims: decoded.claims, user });
    return checked;
  };

  const check = (claims: Claims, user: User): Authentication => {
    const audiences = listClaim(claims, "aud");
    if (!audiences.includes(options.clientId)) {
      const expected = goStrings([options.clientId]);
      const got = goStrings(audiences);
      return refuse(`oidc: verify token: oidc: expected audience in ${expected} got ${got}`);
    }
    return timeliness(claims, options.clock.nowMs()) === "valid"
      ? { outcome: "known", user }
      : refuse("oidc: verify token: oidc: token is expired");
  };

  return {
    name: "oidc",
    authenticateToken(token) {
      const known = memory.get(token);
      if (known !== undefined) return check(known.claims, known.user);
      const decoded = decodeToken(token);
      if (decoded === undefined || stringClaim(decoded.claims, "iss") !== options.issuerUrl) {
        return { outcome: "unknown" };
      }
      return verifyNew(token, decoded);
    },
  };
}

function refuse(reason: string): Authentication {
  return { outcome: "refused", reason };
}

/** The issuer's keys, fetched when they are needed. */
class IssuerKeys {
  readonly #options: OidcOptions;
  #keys: readonly JsonWebKey[] = [];
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  async signatureFault(token: DecodedToken): Promise<string | undefined> {
    const algorithm = stringClaim(token.header, "alg");
    if (!this.#options.signingAlgorithms.includes(algorithm)) {
      const expected = goStrings(this.#options.signingAlgorithms);
      return `verify token: oidc: id token signed with unsupported algorithm, expected ${expected} got "${algorithm}"`;
    }
    const id = stringClaim(token.header, "kid");
    const candidates = (): readonly JsonWebKey[] =>
      this.#keys.filter((key) => id === "" || key.kid === id);
    if (candidates().length === 0) {
      const fault = await this.#refresh();
      if (fault !== undefined) return fault;
    }
    const signed = candidates().some((jwk) => isSignedWith(token, readKey(jwk, algorithm)));
    return signed
      ? undefined
      : "verify token: failed to verify signature: failed to verify id token signature";
  }

  async #refresh(): Promise<string | undefined> {
    const nowMs = this.#options.clock.nowMs();
    if (this.#fetching === undefined && nowMs - this.#fetchedAtMs < REFRESH_MIN_MS)
      return undefined;
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    try {
      await this.#fetching;
      return undefined;
    } catch {
      return "authenticator not initialized";
    }
  }

  async #fetch(): Promise<void> {
    this.#fetchedAtMs = this.#options.clock.nowMs();
    const { issuerUrl, fetchJson } = this.#options;
    const path = `${issuerUrl.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const discovery = (await fetchJson(path)) as Claims;
    if (discovery.issuer !== issuerUrl) throw new Error("the issuer says that it is another one");
    const { keys } = (await fetchJson(stringClaim(discovery, "jwks_uri"))) as {
      keys?: readonly JsonWebKey[];
    };
    this.#keys = keys ?? [];
  }
}

function readKey(jwk: JsonWebKey, algorithm: string): VerificationKey {
  return {
    id: String(jwk.kid ?? ""),
    algorithm,
    key: createPublicKey({ key: jwk, format: "jwk" }),
  };
}

/** The user that the claims describe, or what is wrong with them. */
function userOf(claims: Claims, options: OidcOptions): User | string {
  const { usernameClaim, groupsClaim = "", groupsPrefix = "", requiredClaims } = options;
  const name = claims[usernameClaim];
  if (typeof name !== "string")
    return `parse username claims "${usernameClaim}": claim not present`;
  if (usernameClaim === "email" && claims.email_verified !== undefined) {
    if (claims.email_verified !== true) return "email not verified";
  }
  for (const [claim, value] of Object.entries(requiredClaims)) {
    if (!(claim in claims)) return `required claim ${claim} not present in ID token`;
    const got = String(claims[claim]);
    if (got !== value) {
      return `required claim ${claim} value does not match. Got = ${got}, want = ${value}`;
    }
  }
  const groups = groupsClaim === "" ? [] : listClaim(claims, groupsClaim);
  const id = stringClaim(claims, "jti");
  return authenticated({
    name: `${usernamePrefixOf(options)}${name}`,
    groups: groups.map((group) => `${groupsPrefix}${group}`),
    ...(id === "" ? {} : { extra: { [CREDENTIAL_ID]: [`JTI=${id}`] } }),
  });
}

function usernamePrefixOf({ usernamePrefix, usernameClaim, issuerUrl }: OidcOptions): string {
  if (usernamePrefix === "-") return "";
  if (usernamePrefix) return usernamePrefix;
  return usernameClaim === "email" ? "" : `${issuerUrl}#`;
}
