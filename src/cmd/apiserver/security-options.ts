/** What the flags say about authentication and authorization. */
import type { AuthorizationMode, SecurityOptions } from "#apiserver/security.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import { fetchJson } from "./fetch-json.ts";
import type { ApiServerFlags } from "./flags.ts";
import { type Keys, readPem } from "./keys.ts";

const DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local";
const MODES: readonly string[] = ["Node", "RBAC", "AlwaysAllow", "AlwaysDeny"];

export function securityOptionsOf(
  flags: ApiServerFlags,
  keys: Keys,
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
      usernameHeaders: ["x-remote-user"],
      uidHeaders: ["x-remote-uid"],
      groupHeaders: ["x-remote-group"],
      extraHeaderPrefixes: ["x-remote-extra-"],
    },
    ...oidcOf(flags),
    serviceAccounts: {
      keys: [keys.serviceAccountKeyPem, ...flags.serviceAccountKeyFile.map(readPem)],
      signingKeyPem: keys.serviceAccountKeyPem,
      issuers,
      audiences: flags.apiAudiences.length > 0 ? flags.apiAudiences : issuers.slice(0, 1),
      expirationSecondsMax: 0,
      extendExpiration: true,
    },
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
      signingAlgorithms: ["RS256"],
      requiredClaims: {},
      fetchJson: (url) => fetchJson(url, ca),
    },
  };
}

function checkMode(mode: string): AuthorizationMode {
  if (!MODES.includes(mode)) throw new Error(`unknown authorization mode ${mode}`);
  return mode as AuthorizationMode;
}
