/**
 * Attribute-based access control: the policies of `--authorization-policy-file`, read once at the
 * start. A policy allows; nothing forbids.
 */
import type { PolicyRule } from "#api/generated/rbac.v1.ts";
import type { User } from "../request/request.ts";
import type { AbacPolicy } from "./abac-file.ts";
import type { AccessAttributes, Authorizer } from "./authorizer.ts";

const READING = ["get", "list", "watch"];

export function createAbacAuthorizer(policies: readonly AbacPolicy[]): Authorizer {
  return {
    name: "ABAC",
    authorize: (attributes) =>
      policies.some((policy) => allows(policy, attributes))
        ? { decision: "allow", reason: "" }
        : { decision: "noOpinion", reason: "No policy matched." },
    rulesFor: (user, namespace) => ({
      rules: policies
        .filter((policy) => concerns(policy, user) && isAnyOr(policy.namespace, namespace))
        .flatMap(rulesOf),
      incomplete: false,
      faults: [],
    }),
  };
}

function allows(policy: AbacPolicy, attributes: AccessAttributes): boolean {
  const { user, verb, isResource, path, namespace, resource, group } = attributes;
  if (!concerns(policy, user)) return false;
  if (policy.readonly && !READING.includes(verb)) return false;
  if (!isResource) return matchesPath(policy.nonResourcePath, path);
  return (
    isAnyOr(policy.namespace, namespace) &&
    isAnyOr(policy.resource, resource) &&
    isAnyOr(policy.apiGroup, group)
  );
}

/** Whether the policy's user, group or both match; a policy with neither matches no one. */
function concerns({ user, group }: AbacPolicy, asker: User): boolean {
  if (user === "" && group === "") return false;
  if (user !== "" && user !== asker.name) return false;
  return group === "" || asker.groups.includes(group);
}

function isAnyOr(pattern: string, value: string): boolean {
  return pattern === "*" || pattern === value;
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  return pattern.endsWith("*") && path.startsWith(pattern.replace(/\*+$/, ""));
}

function rulesOf({ readonly, apiGroup, resource, nonResourcePath }: AbacPolicy): PolicyRule[] {
  const verbs = readonly ? READING : ["*"];
  return [
    ...(resource === "" ? [] : [{ verbs, apiGroups: [apiGroup], resources: [resource] }]),
    ...(nonResourcePath === "" ? [] : [{ verbs, nonResourceURLs: [nonResourcePath] }]),
  ];
}
