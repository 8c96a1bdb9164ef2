/** Which requests are logged, and how much of each: the audit policy file. */
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { formatFieldErrors } from "#api/validation/format-field-error.ts";
import { isDns1123Subdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { messageOf } from "#lib/caught.ts";
import {
  ANY_CONFIG,
  BOOL,
  type ConfigKind,
  configSchema,
  decodeLeniently,
  listOf,
  STRING,
  struct,
} from "../config/config-file.ts";
import type { RequestInfo, User } from "../request/request.ts";

export type AuditLevel = "None" | "Metadata" | "Request" | "RequestResponse";
export type AuditStage = "RequestReceived" | "ResponseStarted" | "ResponseComplete" | "Panic";

export interface AuditRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly GroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

interface GroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

/** What to do about one request. */
export interface AuditScope {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

const LEVELS: readonly AuditLevel[] = ["None", "Metadata", "Request", "RequestResponse"];
const STAGES: readonly AuditStage[] = [
  "RequestReceived",
  "ResponseStarted",
  "ResponseComplete",
  "Panic",
];
const NOT_LOGGED: AuditScope = { level: "None", omitStages: new Set(), omitManagedFields: false };

const POLICY: ConfigKind = {
  kind: "Policy",
  apiVersions: ["audit.k8s.io/v1"],
  schema: configSchema("v1.Policy", {
    metadata: { optional: ANY_CONFIG },
    rules: listOf(
      struct("v1.PolicyRule", {
        level: STRING,
        users: listOf(STRING),
        userGroups: listOf(STRING),
        verbs: listOf(STRING),
        resources: listOf(
          struct("v1.GroupResources", {
            group: STRING,
            resources: listOf(STRING),
            resourceNames: listOf(STRING),
          }),
        ),
        namespaces: listOf(STRING),
        nonResourceURLs: listOf(STRING),
        omitStages: listOf(STRING),
        omitManagedFields: { optional: BOOL },
      }),
    ),
    omitStages: listOf(STRING),
    omitManagedFields: BOOL,
  }),
};

/** Throws when the text is no valid policy; unknown fields are only reported. */
export function readAuditPolicy(
  text: string,
  file: string,
  warn: (faults: string) => void,
): AuditPolicy {
  const wrong = (why: string): Error =>
    new Error(`loading audit policy file: ${why}: from file ${file}`);
  let policy: Partial<AuditPolicy>;
  try {
    policy = decodeLeniently(text, POLICY, warn) as Partial<AuditPolicy>;
  } catch (error) {
    throw wrong(`failed decoding: ${messageOf(error)}`);
  }
  const { rules = [] } = policy;
  const faults = [
    ...stageFaults(policy.omitStages, Path.of("omitStages")),
    ...rules.flatMap((rule, index) => ruleFaults(rule, Path.of("rules").index(index))),
  ];
  if (faults.length > 0) throw wrong(formatFieldErrors(faults));
  if (rules.length === 0) throw wrong("loaded illegal policy with 0 rules");
  return { ...policy, rules };
}

/** The first rule that fits decides. */
export function auditScope(policy: AuditPolicy, info: RequestInfo, user: User): AuditScope {
  const rule = policy.rules.find((one) => fits(one, info, user));
  if (rule === undefined || rule.level === "None") return NOT_LOGGED;
  return {
    level: rule.level,
    omitStages: new Set([...(policy.omitStages ?? []), ...(rule.omitStages ?? [])]),
    omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields ?? false,
  };
}

function fits(rule: AuditRule, info: RequestInfo, { name, groups }: User): boolean {
  const { users = [], userGroups = [], verbs = [], namespaces = [], resources = [] } = rule;
  if (users.length > 0 && !users.includes(name)) return false;
  if (userGroups.length > 0 && !groups.some((group) => userGroups.includes(group))) return false;
  if (verbs.length > 0 && !verbs.includes(info.verb)) return false;
  if (namespaces.length > 0 || resources.length > 0) {
    if (!info.isResource) return false;
    if (namespaces.length > 0 && !namespaces.includes(info.namespace)) return false;
    return resources.length === 0 || resources.some((one) => fitsResource(one, info));
  }
  const { nonResourceURLs = [] } = rule;
  if (nonResourceURLs.length === 0) return true;
  return !info.isResource && nonResourceURLs.some((pattern) => fitsPath(pattern, info.path));
}

function fitsResource(
  { group = "", resources = [], resourceNames = [] }: GroupResources,
  info: RequestInfo,
): boolean {
  if (group !== "*" && group !== info.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(info.name)) return false;
  const { resource, subresource } = info;
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  return resources.some(
    (pattern) =>
      pattern === "*" ||
      pattern === whole ||
      pattern === `${resource}/*` ||
      (subresource !== "" && pattern === `*/${subresource}`),
  );
}

function fitsPath(pattern: string, path: string): boolean {
  if (pattern === "*" || pattern === path) return true;
  return pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, ""));
}

function ruleFaults(rule: AuditRule, path: Path): FieldError[] {
  const faults: FieldError[] = [];
  if (!rule.level) faults.push(required(path.child("level"), ""));
  else if (!LEVELS.includes(rule.level)) {
    faults.push(notSupported(path.child("level"), rule.level, LEVELS));
  }
  for (const [index, url] of (rule.nonResourceURLs ?? []).entries()) {
    const at = path.child("nonResourceURLs").index(index);
    if (url !== "*" && !url.startsWith("/")) {
      faults.push(invalid(at, url, "non-resource URL rules must begin with a '/' character"));
    }
    if (url !== "*" && url.slice(0, -1).includes("*")) {
      const detail = "non-resource URL wildcards '*' must be the final character of the rule";
      faults.push(invalid(at, url, detail));
    }
  }
  for (const { group = "", resources = [], resourceNames = [] } of rule.resources ?? []) {
    const wrong = group === "" || group === "*" ? [] : isDns1123Subdomain(group);
    const at = path.child("resources");
    if (wrong.length > 0) faults.push(invalid(at.child("group"), group, wrong.join(",")));
    if (resourceNames.length > 0 && resources.length === 0) {
      const detail = "using resourceNames requires at least one resource";
      faults.push(invalid(at.child("resourceNames"), resourceNames, detail));
    }
  }
  if (rule.nonResourceURLs?.length && (rule.resources?.length || rule.namespaces?.length)) {
    const detail = "rules cannot apply to both regular resources and non-resource URLs";
    faults.push(invalid(path.child("nonResourceURLs"), rule.nonResourceURLs, detail));
  }
  return [...faults, ...stageFaults(rule.omitStages, path.child("omitStages"))];
}

function stageFaults(stages: readonly AuditStage[] = [], path: Path): FieldError[] {
  return stages.flatMap((stage, index) =>
    STAGES.includes(stage)
      ? []
      : [invalid(path.index(index), stage, `allowed stages are ${STAGES.join(",")}`)],
  );
}
