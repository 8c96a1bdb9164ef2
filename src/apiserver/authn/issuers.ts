/** The configured OpenID Connect issuers, which can be replaced while the server runs. */
import type { Clock } from "#lib/time/clock.ts";
import { createOidcAuthenticator, type OidcAuthenticator, type OidcOptions } from "./oidc.ts";
import { type TokenAuthenticator, unionTokens } from "./token-authenticator.ts";

export type IssuerSettings = readonly Omit<OidcOptions, "clock">[];

export interface Issuers {
  /** Always uses the current issuers. */
  readonly tokens: TokenAuthenticator;
  /** Only once all of them have been reached; rejects and leaves all as it was if one cannot be. */
  replace(settings: IssuerSettings): Promise<void>;
}

export function createIssuers(settings: IssuerSettings, clock: Clock): Issuers {
  const issuersOf = (wanted: IssuerSettings): readonly OidcAuthenticator[] =>
    wanted.map((issuer) => createOidcAuthenticator({ ...issuer, clock }));
  let current = unionTokens(issuersOf(settings));
  return {
    tokens: {
      name: "oidc",
      authenticateToken: (token, audiences) => current.authenticateToken(token, audiences),
    },
    async replace(others) {
      const next = issuersOf(others);
      await Promise.all(next.map((one) => one.ready()));
      current = unionTokens(next);
    },
  };
}
