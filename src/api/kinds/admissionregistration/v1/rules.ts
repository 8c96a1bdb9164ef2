/** Which requests a webhook or policy looks at: rules by operation, group, version and resource. */
import type {
  MatchResources,
  NamedRuleWithOperations,
  Rule,
  RuleWithOperations,
} from "#api/generated/admissionregistration.v1.ts";
import type { Draft } from "#api/kind.ts";
import { invalidEach, validateOneOf } from "#api/validation/faults.ts";
import { duplicate, type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import { isPathSegmentName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

export const FAILURE_POLICIES = ["Fail", "Ignore"];
export const MATCH_POLICIES = ["Equivalent", "Exact"];
const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MUTATING_OPERATIONS = ["*", "CONNECT", "CREATE", "UPDATE"];
const SCOPES = ["*", "Cluster", "Namespaced"];

export function defaultRule(rule: Draft<Rule>): void {
  rule.scope ??= "*";
}

export function defaultMatchResources(match: Draft<MatchResources> | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= "Equivalent";
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of match.resourceRules ?? []) defaultRule(rule);
  for (const rule of match.excludeResourceRules ?? []) defaultRule(rule);
}

export function validateMatchResources(
  match: MatchResources | undefined,
  path: Path,
): FieldError[] {
  if (match === undefined) return [];
  const { matchPolicy, resourceRules = [], excludeResourceRules = [] } = match;
  const errors: FieldError[] = [];
  if (matchPolicy === undefined) errors.push(required(path.child("matchPolicy"), ""));
  else errors.push(...validateOneOf(path.child("matchPolicy"), matchPolicy, MATCH_POLICIES));
  for (const field of ["namespaceSelector", "objectSelector"] as const) {
    if (match[field] === undefined) errors.push(required(path.child(field), ""));
    errors.push(...validateLabelSelector(match[field], {}, path.child(field)));
  }
  for (const [i, rule] of resourceRules.entries()) {
    errors.push(...validateNamedRule(rule, path.child("resourceRules").index(i)));
  }
  for (const [i, rule] of excludeResourceRules.entries()) {
    errors.push(...validateNamedRule(rule, path.child("excludeResourceRules").index(i)));
  }
  return errors;
}

/** Mutating policies see no deletes. */
export function validateMutatingOperations(
  match: MatchResources | undefined,
  path: Path,
): FieldError[] {
  const at = path.child("resourceRules", "operations");
  return (match?.resourceRules ?? []).flatMap(({ operations = [] }) =>
    operations.flatMap((operation) => validateOneOf(at, operation, MUTATING_OPERATIONS)),
  );
}

export function validateRuleWithOperations(rule: RuleWithOperations, path: Path): FieldError[] {
  const { operations = [] } = rule;
  const errors: FieldError[] = [];
  const at = path.child("operations");
  if (operations.length === 0) errors.push(required(at, ""));
  errors.push(...validateLoneWildcard(operations, "operations", at));
  for (const [i, operation] of operations.entries()) {
    errors.push(...validateOneOf(at.index(i), operation, OPERATIONS));
  }
  return [...errors, ...validateRule(rule, path)];
}

function validateNamedRule(rule: NamedRuleWithOperations, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, name] of (rule.resourceNames ?? []).entries()) {
    const at = path.child("resourceNames").index(i);
    errors.push(...invalidEach(at, name, isPathSegmentName(name)));
    if (seen.has(name)) errors.push(duplicate(at, name));
    seen.add(name);
  }
  return [...errors, ...validateRuleWithOperations(rule, path)];
}

function validateRule(rule: Rule, path: Path): FieldError[] {
  const { apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  const errors: FieldError[] = [];
  if (apiGroups.length === 0) errors.push(required(path.child("apiGroups"), ""));
  errors.push(...validateLoneWildcard(apiGroups, "API groups", path.child("apiGroups")));
  const versionsPath = path.child("apiVersions");
  if (apiVersions.length === 0) errors.push(required(versionsPath, ""));
  errors.push(...validateLoneWildcard(apiVersions, "API versions", versionsPath));
  for (const [i, version] of apiVersions.entries()) {
    if (version === "") errors.push(required(versionsPath.index(i), ""));
  }
  errors.push(...validateResources(resources, path.child("resources")));
  if (scope !== undefined) errors.push(...validateOneOf(path.child("scope"), scope, SCOPES));
  return errors;
}

function validateLoneWildcard(values: readonly string[], what: string, path: Path): FieldError[] {
  if (values.length < 2 || !values.includes("*")) return [];
  return [invalid(path, values, `if '*' is present, must not specify other ${what}`)];
}

function validateResources(resources: readonly string[], path: Path): FieldError[] {
  const errors: FieldError[] = [];
  if (resources.length === 0) errors.push(required(path, ""));
  const wholeResources = new Set<string>(); // seen as `resource/*`
  const wholeSubresources = new Set<string>(); // seen as `*/subresource`
  let lastWithoutSlash: string | undefined;
  for (const [i, text] of resources.entries()) {
    if (text === "") {
      errors.push(required(path.index(i), ""));
      continue;
    }
    const slash = text.indexOf("/");
    if (slash < 0) {
      lastWithoutSlash = text;
      continue;
    }
    const resource = text.slice(0, slash);
    const subresource = text.slice(slash + 1);
    for (const [seen, pattern] of [
      [wholeResources.has(resource), `${resource}/*`],
      [wholeSubresources.has(subresource), `*/${subresource}`],
    ] as const) {
      if (!seen) continue;
      const detail = `if '${pattern}' is present, must not specify ${text}`;
      errors.push(invalid(path.index(i), text, detail));
    }
    if (subresource === "*") wholeResources.add(resource);
    if (resource === "*") wholeSubresources.add(subresource);
  }
  if (resources.length > 1 && resources.includes("*/*")) {
    const detail = "if '*/*' is present, must not specify other resources";
    errors.push(invalid(path, resources, detail));
  }
  if (resources.includes("*") && lastWithoutSlash !== "*") {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalid(path, resources, detail));
  }
  return errors;
}
