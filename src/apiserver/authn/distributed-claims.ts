/**
 * Claims that a token does not hold itself: it names a place where a signed token with them is had
 * (OpenID Connect Core 5.6.2). Other issuers may sign those; their keys are asked for as usual.
 */
import { messageOf } from "#lib/caught.ts";
import { type FetchText, IssuerKeys, type IssuerOptions } from "./issuer-keys.ts";
import { type Claims, decodeToken, stringClaim } from "./jwt.ts";

const ISSUERS_MAX = 64;

export interface ClaimSourceOptions extends Omit<IssuerOptions, "issuerUrl" | "discoveryUrl"> {
  readonly claim: string;
  readonly fetchText: FetchText;
  /** What is wrong with a token that was signed properly. */
  tokenFault(claims: Claims): string | undefined;
}

export class DistributedClaims {
  readonly #options: ClaimSourceOptions;
  readonly #issuers = new Map<string, IssuerKeys>();

  constructor(options: ClaimSourceOptions) {
    this.#options = options;
  }

  /** The claims with the missing one, or what is wrong. */
  async complete(claims: Claims): Promise<Claims | string> {
    const { claim } = this.#options;
    if (Object.hasOwn(claims, claim) || !isRecord(claims._claim_names)) return claims;
    const source = claims._claim_names[claim];
    if (typeof source !== "string") return claims;
    const sources = claims._claim_sources;
    if (!isRecord(sources)) return "oidc: no claim sources";
    const place = sources[source];
    if (!isRecord(place)) {
      return `id token _claim_names contained a source ${source} missing in _claims_sources`;
    }
    const url = stringClaim(place, "endpoint");
    if (url === "") return claims;
    try {
      return await this.#ask(url, stringClaim(place, "access_token"), claims);
    } catch (error) {
      return `while getting distributed claim "${claim}": ${messageOf(error)}`;
    }
  }

  async #ask(url: string, bearer: string, claims: Claims): Promise<Claims | string> {
    const { claim, fetchText, tokenFault } = this.#options;
    const token = decodeToken((await fetchText(url, bearer || undefined)).trim());
    if (token === undefined) return `getting untrusted issuer from endpoint ${url} failed`;
    const keys = this.#keysOf(stringClaim(token.claims, "iss"));
    const fault = (await keys.signatureFault(token)) ?? tokenFault(token.claims);
    if (fault !== undefined) return `verify distributed claim token: ${fault}`;
    if (!Object.hasOwn(token.claims, claim)) {
      return `jwt returned by distributed claim endpoint "${url}" did not contain claim: ${claim}`;
    }
    return { ...claims, [claim]: token.claims[claim] };
  }

  #keysOf(issuerUrl: string): IssuerKeys {
    const known = this.#issuers.get(issuerUrl);
    if (known !== undefined) return known;
    if (this.#issuers.size >= ISSUERS_MAX) this.#issuers.clear();
    const keys = new IssuerKeys({ ...this.#options, issuerUrl });
    this.#issuers.set(issuerUrl, keys);
    return keys;
  }
}

function isRecord(value: unknown): value is Claims {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
