/** What the flags say about authentication and authorization. */
import type { AuthorizationMode, SecurityOptions } from "#apiserver/security.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import { fetchJson } from "./fetch-json.ts";
import type { ApiServerFlags } from "./flags.ts";
import { type Keys, readPem } from "./keys.ts";

const DEFAULT_ISSUER = "https://kubernetes.default.svc";
/** Watches and streams at once; each costs a connection, a cursor and little more. */
const LONG_RUNNING_MAX = 100_000;
const MODES: readonly string[] = ["Node", "RBAC", "AlwaysAllow", "AlwaysDeny"];

export function securityOptionsOf(
  flags: ApiServerFlags,
  keys: Keys,
  audit: SecurityOptions["audit"],
  clock: Clock,
  random: Random,
): SecurityOptions {
  const issuers =
    flags.serviceAccountIssuer.length > 0 ? flags.serviceAccountIssuer : [DEFAULT_ISSUER];
  const tokenFile = flags.tokenAuthFile;
  return {
    modes: flags.authorizationMode.map(checkMode),
    anonymous: flags.anonymousAuth,
    bootstrapTokens: flags.enableBootstrapTokenAuth,
    ...(tokenFile === undefined
      ? {}
      : { tokenFile: { path: tokenFile, text: readPem(tokenFile) } }),
    frontProxy: {
      allowedNames: flags.requestheaderAllowedNames,
      usernameHeaders: flags.requestheaderUsernameHeaders,
      uidHeaders: flags.requestheaderUidHeaders,
      groupHeaders: flags.requestheaderGroupHeaders,
      extraHeaderPrefixes: flags.requestheaderExtraHeadersPrefix,
    },
    ...oidcOf(flags),
    serviceAccounts: {
      keys: [keys.serviceAccountKeyPem, ...flags.serviceAccountKeyFile.map(readPem)],
      signingKeyPem: keys.serviceAccountKeyPem,
      issuers,
      audiences: flags.apiAudiences.length > 0 ? flags.apiAudiences : issuers.slice(0, 1),
      expirationSecondsMax: flags.serviceAccountMaxTokenExpiration,
      extendExpiration: flags.serviceAccountExtendTokenExpiration,
      ...(flags.serviceAccountJwksUri === undefined
        ? {}
        : { keysUrl: flags.serviceAccountJwksUri }),
    },
    ...flowOf(flags),
    ...(audit === undefined ? {} : { audit }),
    clock,
    random,
  };
}

function oidcOf(flags: ApiServerFlags): Pick<SecurityOptions, "oidc"> {
  const { oidcIssuerUrl, oidcClientId } = flags;
  if (oidcIssuerUrl === undefined || oidcClientId === undefined) return {};
  const ca = flags.oidcCaFile === undefined ? undefined : readPem(flags.oidcCaFile);
  return {
    oidc: {
      issuerUrl: oidcIssuerUrl,
      clientId: oidcClientId,
      usernameClaim: flags.oidcUsernameClaim,
      ...(flags.oidcUsernamePrefix === undefined
        ? {}
        : { usernamePrefix: flags.oidcUsernamePrefix }),
      ...(flags.oidcGroupsClaim === undefined ? {} : { groupsClaim: flags.oidcGroupsClaim }),
      ...(flags.oidcGroupsPrefix === undefined ? {} : { groupsPrefix: flags.oidcGroupsPrefix }),
      signingAlgorithms: flags.oidcSigningAlgs,
      requiredClaims: Object.fromEntries(flags.oidcRequiredClaim.map(splitClaim)),
      fetchJson: (url) => fetchJson(url, ca),
    },
  };
}

function splitClaim(pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (at <= 0) throw new Error(`--oidc-required-claim must be claim=value, not ${pair}`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function flowOf(flags: ApiServerFlags): Pick<SecurityOptions, "flow"> {
  const { maxRequestsInflight: reads, maxMutatingRequestsInflight: writes } = flags;
  if (!flags.enablePriorityAndFairness) return { flow: { reads, writes } };
  const seats = reads + writes;
  return { flow: { seats, longRunningMax: LONG_RUNNING_MAX } };
}

function checkMode(mode: string): AuthorizationMode {
  if (!MODES.includes(mode)) throw new Error(`unknown authorization mode ${mode}`);
  return mode as AuthorizationMode;
}
