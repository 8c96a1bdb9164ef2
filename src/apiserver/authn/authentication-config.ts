/**
 * The file of `--authentication-config`: issuers of tokens, how their claims become users, and
 * which paths allow anonymous requests. Expressions are compiled when the file is read.
 */
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  tooMany,
} from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { Path } from "#api/validation/path.ts";
import { messageOf } from "#lib/caught.ts";
import {
  BOOL,
  type ConfigKind,
  configSchema,
  decodeConfig,
  listOf,
  STRING,
  struct,
} from "../config/config-file.ts";
import type { AnonymousOptions } from "./chain.ts";
import { type JwtEntry, readIssuer } from "./issuer-config.ts";
import type { OidcOptions } from "./oidc.ts";

/** An issuer as the file describes it: how to reach it is not the file's to say. */
export interface ConfiguredIssuer extends Omit<OidcOptions, "clock" | "fetchText"> {
  readonly caPem?: string;
}

export interface AuthenticationConfig {
  readonly issuers: readonly ConfiguredIssuer[];
  readonly anonymous?: AnonymousOptions;
}

interface ConfigFile {
  readonly jwt?: readonly JwtEntry[];
  readonly anonymous?: {
    readonly enabled?: boolean;
    readonly conditions?: readonly { readonly path?: string }[];
  };
}

const ISSUERS_MAX = 64;
const MAPPING = { claim: STRING, prefix: { optional: STRING }, expression: STRING };

const AUTHENTICATION_CONFIGURATION: ConfigKind = {
  kind: "AuthenticationConfiguration",
  apiVersions: ["v1", "v1beta1", "v1alpha1"].map((one) => `apiserver.config.k8s.io/${one}`),
  schema: configSchema("v1.AuthenticationConfiguration", {
    jwt: listOf(
      struct("v1.JWTAuthenticator", {
        issuer: struct("v1.Issuer", {
          url: STRING,
          discoveryURL: STRING,
          certificateAuthority: STRING,
          audiences: listOf(STRING),
          audienceMatchPolicy: STRING,
          egressSelectorType: STRING,
        }),
        claimValidationRules: listOf(
          struct("v1.ClaimValidationRule", {
            claim: STRING,
            requiredValue: STRING,
            expression: STRING,
            message: STRING,
          }),
        ),
        claimMappings: struct("v1.ClaimMappings", {
          username: struct("v1.PrefixedClaimOrExpression", MAPPING),
          groups: struct("v1.PrefixedClaimOrExpression", MAPPING),
          uid: struct("v1.ClaimOrExpression", { claim: STRING, expression: STRING }),
          extra: listOf(struct("v1.ExtraMapping", { key: STRING, valueExpression: STRING })),
        }),
        userValidationRules: listOf(
          struct("v1.UserValidationRule", { expression: STRING, message: STRING }),
        ),
      }),
    ),
    anonymous: {
      optional: struct("v1.AnonymousAuthConfig", {
        enabled: BOOL,
        conditions: listOf(struct("v1.AnonymousAuthCondition", { path: STRING })),
      }),
    },
  }),
};

export interface AuthenticationConfigSource {
  readonly text: string;
  readonly file: string;
  /** They sign service account tokens and may not be listed. */
  readonly ownIssuers: readonly string[];
  /** The previous configuration: its anonymous section cannot change while the server runs. */
  readonly before?: AuthenticationConfig;
}

/** Throws, naming every fault. */
export function readAuthenticationConfig(source: AuthenticationConfigSource): AuthenticationConfig {
  const { jwt = [], anonymous } = decode(source);
  const faults: FieldError[] = [];
  const issuers = jwt.slice(0, ISSUERS_MAX).map((entry, index) => {
    const at = Path.of("jwt").index(index);
    const issuer = readIssuer(entry, at, source.ownIssuers, faults);
    faults.push(...repeatFaults(jwt, index, at.child("issuer")));
    return issuer;
  });
  if (jwt.length > ISSUERS_MAX) faults.push(tooMany(Path.of("jwt"), jwt.length, ISSUERS_MAX));
  const config = { issuers, ...(anonymous && { anonymous: anonymousOf(anonymous) }) };
  faults.push(...anonymousFaults(anonymous));
  const { before } = source;
  if (before !== undefined && isOther(before.anonymous, config.anonymous)) {
    faults.push(forbidden(Path.of("anonymous"), "changed from initial configuration file"));
  }
  if (faults.length > 0) {
    throw new Error(`invalid authentication configuration: ${formatFieldErrors(faults)}`);
  }
  return config;
}

function decode({ text, file }: AuthenticationConfigSource): ConfigFile {
  try {
    if (text === "") throw new Error("empty config data");
    return decodeConfig(text, AUTHENTICATION_CONFIGURATION) as ConfigFile;
  } catch (error) {
    const message = messageOf(error);
    throw new Error(`failed to load authentication configuration from file "${file}": ${message}`);
  }
}

function repeatFaults(jwt: readonly JwtEntry[], index: number, at: Path): FieldError[] {
  return (["url", "discoveryURL"] as const).flatMap((name) => {
    const value = jwt[index]?.issuer?.[name] ?? "";
    const seen = jwt.slice(0, index).some(({ issuer }) => (issuer?.[name] ?? "") === value);
    return seen && (value !== "" || name === "url") ? [duplicate(at.child(name), value)] : [];
  });
}

function anonymousOf({ enabled = false, conditions = [] }: NonNullable<ConfigFile["anonymous"]>) {
  if (conditions.length === 0) return { enabled };
  return { enabled, paths: conditions.map(({ path = "" }) => path) };
}

function anonymousFaults(anonymous: ConfigFile["anonymous"]): FieldError[] {
  const { enabled = false, conditions = [] } = anonymous ?? {};
  if (enabled || conditions.length === 0) return [];
  const shown = conditions.map(({ path = "" }) => ({ Path: path }));
  const detail = "enabled should be set to true when conditions are defined";
  return [invalid(Path.of("anonymous").child("conditions"), shown, detail)];
}

function isOther(before: AnonymousOptions | undefined, now: AnonymousOptions | undefined): boolean {
  return JSON.stringify(before) !== JSON.stringify(now);
}
