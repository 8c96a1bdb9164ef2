/** Which flow schema a request belongs to. */
import type {
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from "#api/generated/flowcontrol.v1.ts";
import type { RequestInfo, User } from "../request/request.ts";

export function matchesFlow({ spec }: FlowSchema, user: User, info: RequestInfo): boolean {
  return (spec.rules ?? []).some((rule) => matchesRule(rule, user, info));
}

/** Lower precedence first; names decide between equals. */
export function byPrecedence(a: FlowSchema, b: FlowSchema): number {
  const order = a.spec.matchingPrecedence - b.spec.matchingPrecedence;
  if (order !== 0) return order;
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
}

function matchesRule(rule: PolicyRulesWithSubjects, user: User, info: RequestInfo): boolean {
  if (!(rule.subjects ?? []).some((subject) => matchesSubject(subject, user))) return false;
  return info.isResource
    ? (rule.resourceRules ?? []).some((one) => matchesResource(one, info))
    : (rule.nonResourceRules ?? []).some((one) => matchesPath(one, info));
}

function matchesSubject({ kind, user, group, serviceAccount }: Subject, asker: User): boolean {
  switch (kind) {
    case "User":
      return user !== undefined && (user.name === "*" || user.name === asker.name);
    case "Group":
      return group !== undefined && (group.name === "*" || asker.groups.includes(group.name));
    case "ServiceAccount": {
      if (serviceAccount === undefined) return false;
      const prefix = `system:serviceaccount:${serviceAccount.namespace}:`;
      if (serviceAccount.name === "*") return asker.name.startsWith(prefix);
      return asker.name === `${prefix}${serviceAccount.name}`;
    }
    default:
      return false;
  }
}

function matchesResource(rule: ResourcePolicyRule, info: RequestInfo): boolean {
  const { verb, group, resource, subresource, namespace } = info;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  return (
    includes(rule.verbs, verb) &&
    includes(rule.resources, what) &&
    includes(rule.apiGroups, group) &&
    (namespace === "" ? rule.clusterScope === true : includes(rule.namespaces, namespace))
  );
}

function matchesPath(rule: NonResourcePolicyRule, { verb, path }: RequestInfo): boolean {
  if (!includes(rule.verbs, verb)) return false;
  return (rule.nonResourceURLs ?? []).some((pattern) => {
    if (pattern === "*" || pattern === path) return true;
    const prefix = pattern.replace(/\*$/, "");
    return path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);
  });
}

function includes(values: readonly string[] | null | undefined, value: string): boolean {
  return values !== null && values !== undefined && (values[0] === "*" || values.includes(value));
}
