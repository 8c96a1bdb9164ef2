/** RBAC rules: what one allows, and which of another's rules a set of rules covers. */
import type { PolicyRule } from "#api/generated/rbac.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import type { AccessAttributes } from "./authorizer.ts";

/** Whether a rule lets the verb be used on the thing, whatever its name. */
export function allowsAnyName(rule: PolicyRule, attributes: AccessAttributes): boolean {
  if (!hasOrAll(rule.verbs ?? [], attributes.verb)) return false;
  if (!attributes.isResource) {
    return (rule.nonResourceURLs ?? []).some((pattern) => urlCovers(pattern, attributes.path));
  }
  return (
    hasOrAll(rule.apiGroups ?? [], attributes.group) &&
    resourceMatches(rule.resources ?? [], attributes.resource, attributes.subresource)
  );
}

export function allowsName(rule: PolicyRule, name: string): boolean {
  const names = rule.resourceNames ?? [];
  return names.length === 0 || names.includes(name);
}

/** Every single permission in `wanted` that no rule of `held` gives, in the order of `wanted`. */
export function missingRules(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): PolicyRule[] {
  const other = wanted.filter((rule) => !held.some((holder) => jsonEqual(holder, rule)));
  const single = other.flatMap(breakDown);
  return single.filter((rule) => !held.some((holder) => covers(holder, rule)));
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`; rules that differ by verb are one. */
export function describeRules(rules: readonly PolicyRule[]): string[] {
  const merged = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const key = JSON.stringify({ ...rule, verbs: [] });
    const verbs = [...(merged.get(key)?.verbs ?? []), ...(rule.verbs ?? [])];
    merged.set(rule.nonResourceURLs ? JSON.stringify(rule) : key, { ...rule, verbs });
  }
  return [...new Set([...merged.values()].map(describeRule))].sort();
}

function describeRule(rule: PolicyRule): string {
  const parts: [string, readonly string[]][] = [
    ["APIGroups", rule.apiGroups ?? []],
    ["Resources", rule.resources ?? []],
    ["NonResourceURLs", rule.nonResourceURLs ?? []],
    ["ResourceNames", rule.resourceNames ?? []],
    ["Verbs", rule.verbs ?? []],
  ];
  const shown = parts.filter(([, values]) => values.length > 0);
  return `{${shown.map(([name, values]) => `${name}:${goStrings(values)}`).join(", ")}}`;
}

/** A list of strings as Go's `%q` writes it: `["a" "b"]`. */
export function goStrings(values: readonly string[]): string {
  return `[${values.map(goQuote).join(" ")}]`;
}

/** One rule per verb, resource and name. */
function breakDown(rule: PolicyRule): PolicyRule[] {
  const verbs = rule.verbs ?? [];
  const names = rule.resourceNames ?? [];
  const ofResources = (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).flatMap((resource) =>
      verbs.flatMap((verb) => {
        const one = { apiGroups: [group], resources: [resource], verbs: [verb] };
        return names.length === 0
          ? [one]
          : names.map((name) => ({ ...one, resourceNames: [name] }));
      }),
    ),
  );
  const ofUrls = (rule.nonResourceURLs ?? []).flatMap((url) =>
    verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] })),
  );
  return [...ofResources, ...ofUrls];
}

/** `single` comes from `breakDown`. */
function covers(rule: PolicyRule, single: PolicyRule): boolean {
  if (!hasOrAll(rule.verbs ?? [], single.verbs![0]!)) return false;
  const url = single.nonResourceURLs?.[0];
  if (url !== undefined) {
    // A rule that is limited to names cannot be about paths.
    return (
      (rule.resourceNames ?? []).length === 0 &&
      (rule.nonResourceURLs ?? []).some((pattern) => urlCovers(pattern, url))
    );
  }
  const [resource = "", ...rest] = single.resources![0]!.split("/");
  const name = single.resourceNames?.[0];
  const names = rule.resourceNames ?? [];
  return (
    hasOrAll(rule.apiGroups ?? [], single.apiGroups![0]!) &&
    resourceMatches(rule.resources ?? [], resource, rest.join("/")) &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
}

function hasOrAll(values: readonly string[], value: string): boolean {
  return values.includes("*") || values.includes(value);
}

function resourceMatches(
  patterns: readonly string[],
  resource: string,
  subresource: string,
): boolean {
  if (subresource === "") return hasOrAll(patterns, resource);
  return hasOrAll(patterns, `${resource}/${subresource}`) || patterns.includes(`*/${subresource}`);
}

function urlCovers(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  return pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, ""));
}
