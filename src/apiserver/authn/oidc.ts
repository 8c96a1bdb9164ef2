/**
 * Tokens of an OpenID Connect issuer (`--oidc-…`, or one of `--authentication-config`).
 *
 * Promises:
 * 1. A token is believed after its issuer, audience, times, signature and claims were checked, in
 *    this order.
 * 2. Signatures are remembered; times and audiences are checked for every request.
 */
import { goQuote } from "#api/meta/go-quote.ts";
import { goStrings } from "../authz/rule.ts";
import type { User } from "../request/request.ts";
import type { Authentication } from "./authenticator.ts";
import { type ClaimRules, notText, userOfClaims } from "./claims-user.ts";
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

export interface OidcOptions extends IssuerOptions, ClaimRules {
  /** The token must be meant for one of them. */
  readonly audiences: readonly string[];
}

export interface OidcAuthenticator extends TokenAuthenticator {
  /** Resolves when the issuer has been reached; rejects if it cannot be. */
  ready(): Promise<void>;
}

export function createOidcAuthenticator(options: OidcOptions): OidcAuthenticator {
  const keys = new IssuerKeys(options);
  const memory = new TokenMemory<{ readonly claims: Claims; readonly user: User }>();
  const { clock, groups } = options;
  const tokenFault = (claims: Claims): string | undefined =>
    audienceFault(claims, options.audiences) ?? timeFault(claims, clock.nowMs());
  const sources =
    groups && "claim" in groups
      ? new DistributedClaims({ ...options, claim: groups.claim, tokenFault })
      : undefined;

  const verifyNew = async (token: string, decoded: DecodedToken): Promise<Authentication> => {
    const fault = subjectFault(decoded.claims) ?? tokenFault(decoded.claims);
    if (fault !== undefined) return refuse(`verify token: ${fault}`);
    const forged = await keys.signatureFault(decoded);
    if (forged !== undefined) return refuse(forged);
    const claims = sources === undefined ? decoded.claims : await sources.complete(decoded.claims);
    if (typeof claims === "string") {
      return refuse(`could not expand distributed claims: ${claims}`);
    }
    const user = userOfClaims(claims, options);
    if (typeof user === "string") return { outcome: "refused", reason: user };
    memory.set(token, { claims, user });
    return { outcome: "known", user };
  };

  return {
    name: "oidc",
    ready: () => keys.ready(),
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

function subjectFault({ sub }: Claims): string | undefined {
  const fault = notText(sub, "struct field idToken.sub");
  return fault === undefined ? undefined : `oidc: failed to unmarshal claims: ${fault}`;
}

function audienceFault(claims: Claims, wanted: readonly string[]): string | undefined {
  const audiences = listClaim(claims, "aud");
  if (audiences.some((audience) => wanted.includes(audience))) return undefined;
  const expected = wanted.length === 1 ? goQuote(wanted[0]!) : `in ${goStrings(wanted)}`;
  return `oidc: expected audience ${expected} got ${goStrings(audiences)}`;
}

/** An issuer's clock may be ahead; a token that is over is over. */
const EARLY_MAX_SECONDS = 300;

function timeFault({ exp, nbf }: Claims, nowMs: number): string | undefined {
  const nowSeconds = nowMs / 1000;
  if (typeof exp !== "number" || exp < nowSeconds) {
    const expiry = typeof exp === "number" ? showTime(exp * 1000) : NO_TIME;
    return `oidc: token is expired (Token Expiry: ${expiry})`;
  }
  if (typeof nbf === "number" && nowSeconds + EARLY_MAX_SECONDS < nbf) {
    const [now, from] = [showTime(nowMs), showTime(nbf * 1000)];
    return `oidc: current time ${now} before the nbf (not before) time: ${from}`;
  }
  return undefined;
}

const NO_TIME = "0001-01-01 00:00:00 +0000 UTC";

function showTime(ms: number): string {
  const text = new Date(ms).toISOString().replace(/(\.000)?Z$/, "");
  return `${text.replace("T", " ")} +0000 UTC`;
}
