/** The JWT issuers of the flags or of --authentication-config, and anonymous access. */
import { readFileSync } from "node:fs";
import {
  type AuthenticationConfig,
  type ConfiguredIssuer,
  readAuthenticationConfig,
} from "#apiserver/authn/authentication-config.ts";
import type { IssuerSettings } from "#apiserver/authn/issuers.ts";
import type { SecurityOptions } from "#apiserver/request/security.ts";
import { fetchText } from "./fetch-text.ts";
import type { ApiServerFlags } from "./flags/flags.ts";
import { readPem } from "./keys.ts";

const DEFAULT_ISSUER = "https://kubernetes.default.svc";
const SIGNING_ALGORITHMS = /^(RS|ES|PS)(256|384|512)$/;

/** Throws, as upstream would not start, for flags that contradict each other. */
export function tokenIssuersOf(flags: ApiServerFlags): Pick<SecurityOptions, "oidc" | "anonymous"> {
  const file = flags.authenticationConfig;
  const given = oidcFlags(flags);
  if (file === undefined) {
    return {
      oidc: given === undefined ? [] : [reachable(given)],
      anonymous: { enabled: flags.anonymousAuth ?? true },
    };
  }
  if (given !== undefined) {
    throw new Error("authentication-config file and oidc-* flags are mutually exclusive");
  }
  const config = readFile(file, ownIssuersOf(flags));
  if (config.anonymous !== undefined && flags.anonymousAuth !== undefined) {
    throw new Error(
      "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file",
    );
  }
  return {
    oidc: config.issuers.map(reachable),
    anonymous: config.anonymous ?? { enabled: flags.anonymousAuth ?? true },
  };
}

/** Reads the issuers of a file that was read before, now or whenever it has changed. */
export function issuersFromFile(flags: ApiServerFlags, file: string): () => IssuerSettings {
  const own = ownIssuersOf(flags);
  const before = readFile(file, own);
  return () => readFile(file, own, before).issuers.map(reachable);
}

/** Issuers of service account tokens; the first one signs new tokens. */
export function ownIssuersOf({ serviceAccountIssuer: issuers }: ApiServerFlags): readonly string[] {
  return issuers.length > 0 ? issuers : [DEFAULT_ISSUER];
}

function readFile(
  file: string,
  ownIssuers: readonly string[],
  before?: AuthenticationConfig,
): AuthenticationConfig {
  const text = readFileSync(file, "utf8");
  return readAuthenticationConfig({ text, file, ownIssuers, ...(before && { before }) });
}

function reachable({ caPem, ...issuer }: ConfiguredIssuer): IssuerSettings[number] {
  return { ...issuer, fetchText: (url, bearer) => fetchText(url, caPem, bearer) };
}

function oidcFlags(flags: ApiServerFlags): ConfiguredIssuer | undefined {
  const { oidcIssuerUrl, oidcClientId, oidcUsernameClaim = "sub", oidcSigningAlgs } = flags;
  if (oidcIssuerUrl === undefined || oidcClientId === undefined) {
    if (anyOidcFlag(flags)) {
      throw new Error(
        "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
      );
    }
    return undefined;
  }
  if (!oidcIssuerUrl.startsWith("https://")) {
    throw new Error(`issuer.url: Invalid value: "${oidcIssuerUrl}": URL scheme must be https`);
  }
  const wrong = oidcSigningAlgs.find((name) => !SIGNING_ALGORITHMS.test(name));
  if (wrong !== undefined) throw new Error(`oidc: unsupported signing alg: "${wrong}"`);
  return {
    issuerUrl: oidcIssuerUrl,
    audiences: [oidcClientId],
    username: { claim: oidcUsernameClaim, prefix: usernamePrefix(flags, oidcUsernameClaim) },
    ...(flags.oidcGroupsClaim
      ? { groups: { claim: flags.oidcGroupsClaim, prefix: flags.oidcGroupsPrefix ?? "" } }
      : {}),
    requiredClaims: Object.fromEntries(flags.oidcRequiredClaim.map(splitClaim)),
    signingAlgorithms: oidcSigningAlgs.length > 0 ? oidcSigningAlgs : ["RS256"],
    ...(flags.oidcCaFile === undefined ? {} : { caPem: readPem(flags.oidcCaFile) }),
  };
}

function anyOidcFlag(flags: ApiServerFlags): boolean {
  return Object.entries(flags).some(
    ([name, value]) =>
      name.startsWith("oidc") && (Array.isArray(value) ? value.length > 0 : value !== undefined),
  );
}

/** Names that are no e-mail addresses mean little outside their issuer. */
function usernamePrefix({ oidcUsernamePrefix = "", oidcIssuerUrl }: ApiServerFlags, claim: string) {
  if (oidcUsernamePrefix === "-") return "";
  if (oidcUsernamePrefix !== "" || claim === "email") return oidcUsernamePrefix;
  return `${oidcIssuerUrl}#`;
}

function splitClaim(pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (at <= 0) throw new Error(`--oidc-required-claim must be claim=value, not ${pair}`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}
