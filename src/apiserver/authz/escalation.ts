/**
 * RBAC privilege escalation check: writes of roles and bindings are refused unless the user holds
 * every rule in them, or may `escalate` roles or `bind` that very role.
 */
import { isDeepStrictEqual } from "node:util";
import type { Status } from "#api/generated/meta.v1.ts";
import type { ClusterRole, PolicyRule, Role, RoleBinding } from "#api/generated/rbac.v1.ts";
import type { Kind, KubeObject } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { failure, forbiddenStatus, notFoundStatus, unknownStatus } from "#api/meta/status.ts";
import type { AdmissionRequest } from "../admission/admission-request.ts";
import type { AdmissionPlugin } from "../admission/plugin.ts";
import type { AccessAttributes, Authorizer } from "./authorizer.ts";
import { SYSTEM_MASTERS } from "./chain.ts";
import type { RbacRules } from "./rbac-rules.ts";
import { describeRules, goStrings, missingRules } from "./rule.ts";

const GROUP = "rbac.authorization.k8s.io";
const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

export function createEscalationCheck(rules: RbacRules, authorizer: Authorizer): AdmissionPlugin {
  const may = async (request: AdmissionRequest, question: Partial<AccessAttributes>) => {
    const { user, namespace } = request;
    const attributes = { ...ANY_QUESTION, user, namespace, ...question };
    return (await authorizer.authorize(attributes)).decision === "allow";
  };

  const checkRole = async (request: AdmissionRequest): Promise<Status | undefined> => {
    const { kind, old, user, namespace } = request;
    const object: KubeObject = request.object!;
    const name = request.operation === "CREATE" ? "" : request.name;
    if (await may(request, { verb: "escalate", resource: kind.names.plural, name })) return;
    if (onlyCollectorFieldsChange(object, old)) return;
    const role = object as Role | ClusterRole;
    const excess = excessText(rules, user, namespace, role.rules ?? []);
    if (excess !== undefined) return refusal(kind, role, excess);
    const aggregates = [object, old].some((one) =>
      hasSelectors((one as ClusterRole | undefined)?.aggregationRule),
    );
    if (!aggregates || excessText(rules, user, namespace, FULL_AUTHORITY) === undefined) return;
    return refusal(kind, role, "must have cluster-admin privileges to use the aggregationRule");
  };

  const checkBinding = async (request: AdmissionRequest): Promise<Status | undefined> => {
    const { kind, old, user, namespace } = request;
    const object: KubeObject = request.object!;
    if (onlyCollectorFieldsChange(object, old)) return;
    const binding = object as RoleBinding;
    const { apiGroup: group, kind: roleKind, name } = binding.roleRef;
    const known = roleKind === "Role" || roleKind === "ClusterRole";
    const resource = `${roleKind.toLowerCase()}s`;
    if (known && (await may(request, { verb: "bind", group, resource, name }))) return;
    const granted = rules.rulesOf(binding.roleRef, namespace);
    if ("fault" in granted) return unresolved(request.kind, binding, granted.fault);
    const excess = excessText(rules, user, namespace, granted);
    return excess === undefined ? undefined : refusal(kind, binding, excess);
  };

  return {
    name: "RBACEscalation",
    admit(request) {
      const { kind, operation, user, subresource } = request;
      if (kind.group !== GROUP || subresource !== "") return;
      if (operation !== "CREATE" && operation !== "UPDATE") return;
      if (user.groups.includes(SYSTEM_MASTERS)) return;
      const check = kind.names.plural.endsWith("roles") ? checkRole : checkBinding;
      return check(request).then((status) => (status === undefined ? undefined : failure(status)));
    },
  };
}

const ANY_QUESTION: Omit<AccessAttributes, "user"> = {
  isResource: true,
  verb: "",
  path: "",
  group: GROUP,
  version: "*",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
};

/** What the user would give away without holding it; undefined if nothing. */
function excessText(
  rules: RbacRules,
  user: AdmissionRequest["user"],
  namespace: string,
  wanted: readonly PolicyRule[],
): string | undefined {
  const { grants, faults } = rules.holdings(user, namespace);
  const missing = missingRules(
    grants.map(({ rule }) => rule),
    wanted,
  );
  if (missing.length === 0) return undefined;
  const who = `user ${goQuote(user.name)} (groups=${goStrings(user.groups)})`;
  const resolution =
    faults.length === 0
      ? ""
      : `; resolution errors: [${faults.length > 1 ? `[${faults.join(", ")}]` : faults[0]}]`;
  return (
    `${who} is attempting to grant RBAC permissions not currently held:\n` +
    `${describeRules(missing).join("\n")}${resolution}`
  );
}

function refusal(kind: Kind, { metadata }: KubeObject, why: string): Status {
  const resource = { group: GROUP, resource: kind.names.plural };
  return forbiddenStatus(resource, metadata.name ?? "", why);
}

/** The garbage collector's own edits need no permissions of the role. */
function onlyCollectorFieldsChange(next: KubeObject, old: KubeObject | undefined): boolean {
  if (old === undefined) return false;
  const { ownerReferences, finalizers, selfLink, managedFields } = old.metadata;
  const restored = { ...next.metadata, ownerReferences, finalizers, selfLink, managedFields };
  return isDeepStrictEqual(plain({ ...next, metadata: restored }), plain(old));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function hasSelectors(rule: ClusterRole["aggregationRule"]): boolean {
  return (rule?.clusterRoleSelectors ?? []).length > 0;
}

/** The referenced role does not exist; the NotFound names the kind that was written, as upstream does. */
function unresolved({ names }: Kind, { roleRef }: RoleBinding, fault: string): Status {
  return roleRef.kind === "Role" || roleRef.kind === "ClusterRole"
    ? notFoundStatus({ group: GROUP, resource: names.plural }, roleRef.name)
    : unknownStatus(fault);
}
