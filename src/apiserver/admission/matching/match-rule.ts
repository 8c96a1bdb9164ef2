/** Whether a rule of a webhook or policy is about a request: scope, operation, group, version, resource. */
import type { NamedRuleWithOperations } from "#api/generated/admissionregistration.v1.ts";
import type { AdmissionRequest, GroupVersionResource } from "../admission-request.ts";

export type Rule = NamedRuleWithOperations;

/** `resource`: that of the request, or an equivalent one. */
export function matchesRule(
  rule: Rule,
  { operation, subresource, namespace, name }: AdmissionRequest,
  resource: GroupVersionResource,
): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [] } = rule;
  return (
    hasOrAll(operations ?? [], operation) &&
    hasOrAll(apiGroups ?? [], resource.group) &&
    hasOrAll(apiVersions ?? [], resource.version) &&
    matchesResource(resources ?? [], resource.resource, subresource) &&
    matchesScope(rule.scope, namespace, resource) &&
    ((rule.resourceNames ?? []).length === 0 || rule.resourceNames!.includes(name))
  );
}

function hasOrAll(items: readonly string[], wanted: string): boolean {
  return items.includes(wanted) || items.includes("*");
}

function matchesResource(items: readonly string[], resource: string, subresource: string): boolean {
  return items.some((item) => {
    const slash = item.indexOf("/");
    const name = slash < 0 ? item : item.slice(0, slash);
    const part = slash < 0 ? "" : item.slice(slash + 1);
    return (name === "*" || name === resource) && (part === "*" || part === subresource);
  });
}

/** A request for a namespace has that namespace's name as its namespace, and is cluster-scoped. */
function matchesScope(
  scope: string | undefined,
  namespace: string,
  { group, version, resource }: GroupVersionResource,
): boolean {
  if (scope === undefined || scope === "*") return true;
  const isNamespace = group === "" && version === "v1" && resource === "namespaces";
  const isNamespaced = !isNamespace && namespace !== "";
  return scope === "Namespaced" ? isNamespaced : scope === "Cluster" && !isNamespaced;
}
