/**
 * Tokens of an OpenID Connect issuer (`--oidc-…`, or one of `--authentication-config`).
 *
 * Promises:
 * 1. A token is believed after its issuer, signature, audience, times and required claims were
 *    checked, in this order.
 * 2. Signatures are remembered; times and audiences are checked for every request.
 */
import { goStrings } from "../authz/rule.ts";
import type { User } from "../request.ts";
import type { Authentication } from "./authenticator.ts";
import { DistributedClaims } from "./distributed-claims.ts";
import { IssuerKeys, type IssuerOptions } from "./issuer-keys.ts";
import {
  type Claims,
  type DecodedToken,
  decodeToken,
  listClaim,
  stringClaim,
  TokenMemory,
} from "./jwt.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";
import { authenticated, CREDENTIAL_ID } from "./users.ts";

export interface OidcOptions extends IssuerOptions {
  /** The token must be meant for one of them. */
  readonly audiences: readonly string[];
  readonly username: ClaimMapping;
  readonly groups?: ClaimMapping;
  readonly uidClaim?: string;
  readonly requiredClaims: Readonly<Record<string, string>>;
}

export interface ClaimMapping {
  readonly claim: string;
  readonly prefix: string;
}

export function createOidcAuthenticator(options: OidcOptions): TokenAuthenticator {
  const keys = new IssuerKeys(options);
  const memory = new TokenMemory<{ readonly claims: Claims; readonly user: User }>();
  const { clock, groups } = options;
  const tokenFault = (claims: Claims): string | undefined =>
    audienceFault(claims, options.audiences) ?? timeFault(claims, clock.nowMs());
  const sources = groups && new DistributedClaims({ ...options, claim: groups.claim, tokenFault });

  const verifyNew = async (token: string, decoded: DecodedToken): Promise<Authentication> => {
    const fault = await keys.signatureFault(decoded);
    if (fault !== undefined) return refuse(fault);
    const late = tokenFault(decoded.claims);
    if (late !== undefined) return refuse(`verify token: ${late}`);
    const claims = sources === undefined ? decoded.claims : await sources.complete(decoded.claims);
    if (typeof claims === "string") {
      return refuse(`could not expand distributed claims: ${claims}`);
    }
    const user = userOf(claims, options);
    if (typeof user === "string") return refuse(user);
    memory.set(token, { claims, user });
    return { outcome: "known", user };
  };

  return {
    name: "oidc",
    authenticateToken(token) {
      const known = memory.get(token);
      if (known !== undefined) {
        const fault = tokenFault(known.claims);
        if (fault === undefined) return { outcome: "known", user: known.user };
        return refuse(`verify token: ${fault}`);
      }
      const decoded = decodeToken(token);
      if (decoded === undefined || stringClaim(decoded.claims, "iss") !== options.issuerUrl) {
        return { outcome: "unknown" };
      }
      return verifyNew(token, decoded);
    },
  };
}

function refuse(reason: string): Authentication {
  return { outcome: "refused", reason: `oidc: ${reason}` };
}

function audienceFault(claims: Claims, wanted: readonly string[]): string | undefined {
  const audiences = listClaim(claims, "aud");
  if (audiences.some((audience) => wanted.includes(audience))) return undefined;
  return `oidc: expected audience in ${goStrings(wanted)} got ${goStrings(audiences)}`;
}

/** An issuer's clock may be ahead; a token that is over is over. */
const EARLY_MAX_SECONDS = 300;

function timeFault({ exp, nbf }: Claims, nowMs: number): string | undefined {
  const nowSeconds = nowMs / 1000;
  if (typeof exp !== "number" || exp < nowSeconds) return "oidc: token is expired";
  if (typeof nbf === "number" && nowSeconds + EARLY_MAX_SECONDS < nbf) {
    return "oidc: current time is before the nbf (not before) time";
  }
  return undefined;
}

/** The user that the claims describe, or what is wrong with them. */
function userOf(claims: Claims, options: OidcOptions): User | string {
  const { username, uidClaim } = options;
  const name = claims[username.claim];
  if (typeof name !== "string") return claimFault("username claims", username.claim, claims);
  if (username.claim === "email" && "email_verified" in claims) {
    if (typeof claims.email_verified !== "boolean") return "parse 'email_verified' claim";
    if (!claims.email_verified) return "email not verified";
  }
  const groups = groupsOf(claims, options.groups);
  if (typeof groups === "string") return groups;
  const uid = uidClaim === undefined ? "" : claims[uidClaim];
  if (typeof uid !== "string") return claimFault("uid claim", uidClaim!, claims);
  const missing = requiredClaimFault(claims, options.requiredClaims);
  if (missing !== undefined) return missing;
  const id = stringClaim(claims, "jti");
  return authenticated({
    name: `${username.prefix}${name}`,
    groups,
    ...(uid === "" ? {} : { uid }),
    ...(id === "" ? {} : { extra: { [CREDENTIAL_ID]: [`JTI=${id}`] } }),
  });
}

function groupsOf(claims: Claims, mapping: ClaimMapping | undefined): string[] | string {
  if (mapping === undefined || !(mapping.claim in claims)) return [];
  const value = claims[mapping.claim];
  const groups: unknown[] = Array.isArray(value) ? value : [value];
  if (!groups.every((group) => typeof group === "string")) {
    return claimFault("groups claim", mapping.claim, claims);
  }
  return groups.map((group) => `${mapping.prefix}${group}`);
}

function requiredClaimFault(
  claims: Claims,
  required: Readonly<Record<string, string>>,
): string | undefined {
  for (const [claim, want] of Object.entries(required)) {
    if (!(claim in claims)) return `required claim ${claim} not present in ID token`;
    const got = claims[claim];
    if (typeof got !== "string") return `parse claim ${claim}: not a string`;
    if (got !== want) {
      return `required claim ${claim} value does not match. Got = ${got}, want = ${want}`;
    }
  }
  return undefined;
}

function claimFault(what: string, claim: string, claims: Claims): string {
  return `parse ${what} "${claim}": ${claim in claims ? "not a string" : "claim not present"}`;
}
