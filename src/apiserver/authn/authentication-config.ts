/**
 * The file of `--authentication-config`: issuers of tokens, and where callers may be nobody. Claims
 * are mapped by name; CEL expressions, which the file may hold as well, are refused by name rather
 * than overlooked.
 */
import { X509Certificate } from "node:crypto";
import {
  duplicate,
  type FieldError,
  invalid,
  required,
  tooMany,
} from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { ClaimMapping, OidcOptions } from "./oidc.ts";

/** An issuer as the file describes it: how to reach it is not the file's to say. */
export interface ConfiguredIssuer extends Omit<OidcOptions, "clock" | "fetchText"> {
  readonly caPem?: string;
}

export interface AuthenticationConfig {
  readonly issuers: readonly ConfiguredIssuer[];
  readonly anonymous?: { readonly enabled: boolean; readonly paths?: readonly string[] };
}

interface ConfigFile {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly jwt?: readonly JwtEntry[];
  readonly anonymous?: {
    readonly enabled?: boolean;
    readonly conditions?: readonly { readonly path: string }[];
  };
}

interface JwtEntry {
  readonly issuer?: {
    readonly url?: string;
    readonly discoveryURL?: string;
    readonly audiences?: readonly string[];
    readonly audienceMatchPolicy?: string;
    readonly certificateAuthority?: string;
    readonly egressSelectorType?: string;
  };
  readonly claimMappings?: {
    readonly username?: MappingEntry;
    readonly groups?: MappingEntry;
    readonly uid?: MappingEntry;
    readonly extra?: readonly object[];
  };
  readonly claimValidationRules?: readonly {
    readonly claim?: string;
    readonly requiredValue?: string;
    readonly expression?: string;
    readonly message?: string;
  }[];
  readonly userValidationRules?: readonly object[];
}

interface MappingEntry {
  readonly claim?: string;
  readonly prefix?: string;
  readonly expression?: string;
}

const API_VERSIONS = ["v1", "v1beta1", "v1alpha1"].map((one) => `apiserver.config.k8s.io/${one}`);
const ISSUERS_MAX = 64;
const SIGNING_ALGORITHMS = ["ES", "PS", "RS"].flatMap((family) =>
  ["256", "384", "512"].map((bits) => family + bits),
);
const NO_EXPRESSIONS = "CEL expressions are not supported here yet; map claims by their names";

/** Throws, naming every fault. `ownIssuers` sign service account tokens and may not be listed. */
export function readAuthenticationConfig(
  document: unknown,
  file: string,
  ownIssuers: readonly string[],
): AuthenticationConfig {
  const config = (document ?? {}) as ConfigFile;
  const known =
    API_VERSIONS.includes(config.apiVersion ?? "") && config.kind === "AuthenticationConfiguration";
  if (!known) {
    throw new Error(
      `${file} must be of kind AuthenticationConfiguration in one of ${API_VERSIONS.join(", ")}`,
    );
  }
  const faults = configFaults(config, ownIssuers);
  if (faults.length > 0) throw new Error(`${file}: ${formatFieldErrors(faults)}`);
  const { anonymous } = config;
  return {
    issuers: (config.jwt ?? []).map(issuerOf),
    ...(anonymous === undefined
      ? {}
      : {
          anonymous: {
            enabled: anonymous.enabled ?? false,
            ...(anonymous.conditions?.length
              ? { paths: anonymous.conditions.map(({ path }) => path) }
              : {}),
          },
        }),
  };
}

function issuerOf({ issuer = {}, claimMappings = {}, ...rest }: JwtEntry): ConfiguredIssuer {
  const { username, groups, uid } = claimMappings;
  const rules = rest.claimValidationRules ?? [];
  return {
    issuerUrl: issuer.url!,
    audiences: issuer.audiences!,
    ...(issuer.discoveryURL ? { discoveryUrl: issuer.discoveryURL } : {}),
    ...(issuer.certificateAuthority ? { caPem: issuer.certificateAuthority } : {}),
    username: mappingOf(username!),
    ...(groups?.claim ? { groups: mappingOf(groups) } : {}),
    ...(uid?.claim ? { uidClaim: uid.claim } : {}),
    requiredClaims: Object.fromEntries(rules.map((one) => [one.claim!, one.requiredValue ?? ""])),
    signingAlgorithms: SIGNING_ALGORITHMS,
  };
}

function mappingOf({ claim = "", prefix = "" }: MappingEntry): ClaimMapping {
  return { claim, prefix };
}

function configFaults({ jwt = [], anonymous }: ConfigFile, own: readonly string[]): FieldError[] {
  const root = Path.of("jwt");
  const faults: FieldError[] = [];
  if (jwt.length > ISSUERS_MAX) {
    return [tooMany(root, jwt.length, ISSUERS_MAX)];
  }
  for (const [index, entry] of jwt.entries()) {
    const at = root.index(index);
    faults.push(...issuerFaults(entry, at.child("issuer"), own), ...entryFaults(entry, at));
    for (const name of ["url", "discoveryURL"] as const) {
      const value = entry.issuer?.[name] ?? "";
      const seen = jwt.slice(0, index).some((other) => other.issuer?.[name] === value);
      if (value !== "" && seen) faults.push(duplicate(at.child("issuer").child(name), value));
    }
  }
  if (anonymous?.enabled !== true && anonymous?.conditions?.length) {
    const detail = "enabled should be set to true when conditions are defined";
    faults.push(invalid(Path.of("anonymous").child("conditions"), anonymous.conditions, detail));
  }
  return faults;
}

function issuerFaults({ issuer = {} }: JwtEntry, at: Path, own: readonly string[]): FieldError[] {
  const { url = "", discoveryURL = "", audiences = [], audienceMatchPolicy = "" } = issuer;
  const faults =
    url === "" ? [required(at.child("url"), "URL is required")] : urlFaults(url, at.child("url"));
  if (own.includes(url)) {
    const detail = `URL must not overlap with disallowed issuers: [${own.join(" ")}]`;
    faults.push(invalid(at.child("url"), url, detail));
  }
  if (discoveryURL !== "") {
    const place = at.child("discoveryURL");
    if (discoveryURL.replace(/\/+$/, "") === url.replace(/\/+$/, "")) {
      faults.push(invalid(place, discoveryURL, "discoveryURL must be different from URL"));
    }
    faults.push(...urlFaults(discoveryURL, place));
  }
  if (audiences.length === 0) {
    const place = at.child("audiences");
    faults.push(required(place, `at least one ${place} is required`));
  }
  if (audienceMatchPolicy !== "MatchAny" && (audiences.length > 1 || audienceMatchPolicy !== "")) {
    const detail =
      audiences.length > 1
        ? "audienceMatchPolicy must be MatchAny for multiple audiences"
        : "audienceMatchPolicy must be empty or MatchAny for single audience";
    faults.push(invalid(at.child("audienceMatchPolicy"), audienceMatchPolicy, detail));
  }
  if (issuer.egressSelectorType) {
    const detail = "there are no egress selectors";
    faults.push(invalid(at.child("egressSelectorType"), issuer.egressSelectorType, detail));
  }
  if (issuer.certificateAuthority && !isCertificate(issuer.certificateAuthority)) {
    const detail = "data does not contain any valid RSA or ECDSA certificates";
    faults.push(invalid(at.child("certificateAuthority"), "<omitted>", detail));
  }
  return faults;
}

function urlFaults(text: string, at: Path): FieldError[] {
  const fault = (detail: string): FieldError => invalid(at, text, detail);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return [fault("not a URL")];
  }
  return [
    ...(url.protocol === "https:" ? [] : [fault("URL scheme must be https")]),
    ...(url.username + url.password === ""
      ? []
      : [fault("URL must not contain a username or password")]),
    ...(url.search === "" ? [] : [fault("URL must not contain a query")]),
    ...(url.hash === "" ? [] : [fault("URL must not contain a fragment")]),
  ];
}

function entryFaults(entry: JwtEntry, at: Path): FieldError[] {
  const { username = {}, groups = {}, uid = {}, extra = [] } = entry.claimMappings ?? {};
  const mappings = at.child("claimMappings");
  const faults = [
    ...mappingFaults(username, mappings.child("username"), true),
    ...mappingFaults(groups, mappings.child("groups"), false),
    ...(uid.expression ? [unsupported(mappings.child("uid").child("expression"), uid)] : []),
  ];
  if (extra.length > 0) faults.push(invalid(mappings.child("extra"), "", NO_EXPRESSIONS));
  for (const [index, rule] of (entry.claimValidationRules ?? []).entries()) {
    const place = at.child("claimValidationRules").index(index);
    if (rule.expression) faults.push(unsupported(place.child("expression"), rule));
    else if (!rule.claim) faults.push(required(place, "claim or expression is required"));
    else if (rule.message) {
      const detail = "may not be specified when claim is set";
      faults.push(invalid(place.child("message"), rule.message, detail));
    }
  }
  if (entry.userValidationRules?.length) {
    faults.push(invalid(at.child("userValidationRules"), "", NO_EXPRESSIONS));
  }
  return faults;
}

function mappingFaults(mapping: MappingEntry, at: Path, isRequired: boolean): FieldError[] {
  const { claim = "", expression = "", prefix } = mapping;
  if (claim !== "" && expression !== "") {
    return [invalid(at, "", "claim and expression can't both be set")];
  }
  if (expression !== "") return [unsupported(at.child("expression"), mapping)];
  if (claim === "") return isRequired ? [required(at, "claim or expression is required")] : [];
  if (prefix !== undefined) return [];
  const detail =
    "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
  return [required(at.child("prefix"), detail)];
}

function unsupported(at: Path, { expression }: { readonly expression?: string }): FieldError {
  return invalid(at, expression, NO_EXPRESSIONS);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
