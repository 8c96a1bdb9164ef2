/** Which requests a flow schema takes: who asks, and for what. */
import type {
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from "#api/generated/flowcontrol.v1.ts";
import { invalidEach } from "#api/validation/faults.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";

const VERBS = "create delete deletecollection get list patch proxy update watch".split(" ");

/** The field that each kind of subject has, in the order in which the others are refused. */
const SUBJECT_FIELDS = {
  ServiceAccount: "serviceAccount",
  User: "user",
  Group: "group",
} as const;
const SUBJECT_KINDS = Object.keys(SUBJECT_FIELDS) as (keyof typeof SUBJECT_FIELDS)[];

export function validateFlowRule(rule: PolicyRulesWithSubjects, path: Path): FieldError[] {
  const { resourceRules = [], nonResourceRules = [] } = rule;
  const subjects = rule.subjects ?? [];
  const errors = subjects.flatMap((subject, i) =>
    validateSubject(subject, path.child("subjects").index(i)),
  );
  if (subjects.length === 0) {
    errors.push(required(path.child("subjects"), "subjects must contain at least one value"));
  }
  if (resourceRules.length + nonResourceRules.length === 0) {
    const detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
    errors.push(required(path, detail));
  }
  for (const [i, resource] of resourceRules.entries()) {
    errors.push(...validateResourceRule(resource, path.child("resourceRules").index(i)));
  }
  for (const [i, urls] of nonResourceRules.entries()) {
    errors.push(...validateNonResourceRule(urls, path.child("nonResourceRules").index(i)));
  }
  return errors;
}

function validateSubject(subject: Subject, path: Path): FieldError[] {
  const kind = SUBJECT_KINDS.find((known) => known === subject.kind);
  if (kind === undefined) {
    return [notSupported(path.child("kind"), subject.kind, [...SUBJECT_KINDS].sort())];
  }
  const field = SUBJECT_FIELDS[kind];
  const own = subject[field];
  const at = path.child(field);
  const errors: FieldError[] = [];
  if (own === undefined) {
    errors.push(required(at, `${field} is required when subject kind is '${kind}'`));
  } else if (field === "serviceAccount") {
    errors.push(...validateServiceAccount(own as ServiceAccountSubject, at));
  } else if (own.name === "") {
    errors.push(required(at.child("name"), ""));
  }
  for (const other of SUBJECT_KINDS) {
    const otherField = SUBJECT_FIELDS[other];
    if (other === kind || subject[otherField] === undefined) continue;
    const detail = `${otherField} is forbidden when subject kind is not '${other}'`;
    errors.push(forbidden(path.child(otherField), detail));
  }
  return errors;
}

function validateServiceAccount({ name, namespace }: ServiceAccountSubject, path: Path) {
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(path.child("name"), ""));
  else if (name !== "*") {
    errors.push(...invalidEach(path.child("name"), name, isDns1123Subdomain(name)));
  }
  const at = path.child("namespace");
  if (namespace === "") errors.push(required(at, "must specify namespace for service account"));
  else errors.push(...invalidEach(at, namespace, isDns1123Label(namespace)));
  return errors;
}

function validateResourceRule(rule: ResourcePolicyRule, path: Path): FieldError[] {
  const errors = validateVerbs(rule.verbs ?? [], path.child("verbs"));
  const groups = rule.apiGroups ?? [];
  const groupsPath = path.child("apiGroups");
  if (groups.length === 0) {
    errors.push(required(groupsPath, "resource rules must supply at least one api group"));
  }
  errors.push(...validateLoneWildcard(groups, "api groups", groupsPath));
  const resources = rule.resources ?? [];
  const resourcesPath = path.child("resources");
  if (resources.length === 0) {
    errors.push(required(resourcesPath, "resource rules must supply at least one resource"));
  }
  errors.push(...validateLoneWildcard(resources, "resources", resourcesPath));

  const namespaces = rule.namespaces ?? [];
  const namespacesPath = path.child("namespaces");
  if (namespaces.length === 0 && rule.clusterScope !== true) {
    const detail = "resource rules that are not cluster scoped must supply at least one namespace";
    errors.push(required(namespacesPath, detail));
  }
  errors.push(...validateLoneWildcard(namespaces, "namespaces", namespacesPath));
  if (namespaces.includes("*")) return errors;
  for (const [i, namespace] of namespaces.entries()) {
    const intro = "each member of this list must be '*' or a DNS-1123 label; ";
    const faults = isDns1123Label(namespace).map((fault) => intro + fault);
    errors.push(...invalidEach(namespacesPath.index(i), namespace, faults));
  }
  return errors;
}

function validateNonResourceRule(rule: NonResourcePolicyRule, path: Path): FieldError[] {
  const errors = validateVerbs(rule.verbs ?? [], path.child("verbs"));
  const urls = rule.nonResourceURLs ?? [];
  const at = path.child("nonResourceURLs");
  if (urls.length === 0) {
    errors.push(required(at, "nonResourceURLs must contain at least one value"));
  }
  errors.push(...validateLoneWildcard(urls, "non-resource URLs", at));
  if (urls.includes("*")) return errors;
  for (const [i, url] of urls.entries()) {
    const fault = urlFault(url);
    if (fault !== undefined) errors.push(invalid(at.index(i), url, fault));
  }
  return errors;
}

function validateVerbs(verbs: readonly string[], path: Path): FieldError[] {
  if (verbs.length === 0) return [required(path, "verbs must contain at least one value")];
  if (verbs.includes("*")) return validateLoneWildcard(verbs, "verbs", path);
  if (verbs.every((verb) => VERBS.includes(verb))) return [];
  return [notSupported(path, verbs, VERBS)];
}

function validateLoneWildcard(values: readonly string[], what: string, path: Path): FieldError[] {
  if (values.length < 2 || !values.includes("*")) return [];
  return [invalid(path, values, `if '*' is present, must not specify other ${what}`)];
}

function urlFault(url: string): string | undefined {
  if (url === "") return "must not be empty";
  if (url === "/") return undefined;
  if (!url.startsWith("/")) return "must start with slash";
  if (url.includes(" ")) return "must not contain white-space";
  if (url.includes("//")) return "must not contain double slash";
  const wildcards = url.split("*").length - 1;
  if (wildcards > 1 || (wildcards === 1 && !url.endsWith("/*"))) {
    return "wildcard can only do suffix matching";
  }
  return undefined;
}
