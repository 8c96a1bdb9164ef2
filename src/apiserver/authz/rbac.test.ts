import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/generated/rbac.v1.ts";
import type { Kind } from "#api/kind.ts";
import { clusterRoleBindingKind, roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "#api/kinds/rbac/v1/roles.ts";
import { admitWith } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import type { User } from "../request/request.ts";
import type { AccessAttributes, Authorizer } from "./authorizer.ts";
import { alwaysAllow, alwaysDeny, chainAuthorizers } from "./chain.ts";
import { createEscalationCheck } from "./escalation.ts";
import { accessDeniedStatus } from "./forbidden.ts";
import { createRbacAuthorizer } from "./rbac.ts";
import { RbacRules } from "./rbac-rules.ts";

const alice: User = { name: "alice", groups: ["dev", "system:authenticated"] };
const API = "rbac.authorization.k8s.io";
const ref = (kind: string, name: string) => ({ apiGroup: API, kind, name });

function world(): { objects: MemoryObjects; rules: RbacRules; authorizer: Authorizer } {
  const objects = new MemoryObjects();
  const rules = new RbacRules(objects);
  rules.start(new AbortController().signal);
  return { objects, rules, authorizer: chainAuthorizers([createRbacAuthorizer(rules)]) };
}

const clusterRole = (name: string, ...rules: NonNullable<ClusterRole["rules"]>): ClusterRole => ({
  metadata: { name },
  rules,
});
const clusterBinding = (
  name: string,
  role: string,
  ...subjects: NonNullable<ClusterRoleBinding["subjects"]>
): ClusterRoleBinding => ({ metadata: { name }, roleRef: ref("ClusterRole", role), subjects });
const role = (namespace: string, name: string, ...rules: NonNullable<Role["rules"]>): Role => ({
  metadata: { name, namespace },
  rules,
});
const binding = (
  namespace: string,
  name: string,
  roleRef: RoleBinding["roleRef"],
  ...subjects: NonNullable<RoleBinding["subjects"]>
): RoleBinding => ({ metadata: { name, namespace }, roleRef, subjects });

function ask(changes: Partial<AccessAttributes> = {}): AccessAttributes {
  return {
    user: alice,
    isResource: true,
    verb: "get",
    path: "",
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "ns",
    name: "",
    ...changes,
  };
}

describe("RBAC rules", () => {
  const url = { isResource: false, resource: "", namespace: "" };
  const cases: {
    name: string;
    rule: NonNullable<Role["rules"]>[number];
    asked: Partial<AccessAttributes>;
    allowed: boolean;
  }[] = [
    {
      name: "the verb on the resource",
      rule: { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
      asked: {},
      allowed: true,
    },
    {
      name: "a rule does not allow another verb",
      rule: { verbs: ["list"], apiGroups: [""], resources: ["pods"] },
      asked: {},
      allowed: false,
    },
    {
      name: "a rule does not allow another API group",
      rule: { verbs: ["get"], apiGroups: ["apps"], resources: ["pods"] },
      asked: {},
      allowed: false,
    },
    {
      name: "a rule does not allow a subresource",
      rule: { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
      asked: { subresource: "log" },
      allowed: false,
    },
    {
      name: "a subresource of everything",
      rule: { verbs: ["get"], apiGroups: [""], resources: ["*/log"] },
      asked: { subresource: "log" },
      allowed: true,
    },
    {
      name: "a rule of stars allows every verb and resource",
      rule: { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      asked: { subresource: "log", verb: "nonsense", group: "x" },
      allowed: true,
    },
    {
      name: "resourceNames allow the names they list",
      rule: { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a", "b"] },
      asked: { name: "b" },
      allowed: true,
    },
    {
      name: "resourceNames do not allow requests without a name",
      rule: { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] },
      asked: {},
      allowed: false,
    },
    {
      name: "nonResourceURLs allow their path",
      rule: { verbs: ["get"], nonResourceURLs: ["/healthz"] },
      asked: { ...url, path: "/healthz" },
      allowed: true,
    },
    {
      name: "nonResourceURLs ending in a star allow the paths below",
      rule: { verbs: ["get"], nonResourceURLs: ["/healthz/*"] },
      asked: { ...url, path: "/healthz/etcd" },
      allowed: true,
    },
    {
      name: "nonResourceURLs ending in a star do not allow the prefix itself",
      rule: { verbs: ["get"], nonResourceURLs: ["/healthz/*"] },
      asked: { ...url, path: "/healthz" },
      allowed: false,
    },
  ];
  for (const { name, rule, asked, allowed } of cases) {
    test(name, async () => {
      const { objects, authorizer } = world();
      objects.put(clusterRoleKind, clusterRole("r", rule));
      objects.put(
        clusterRoleBindingKind,
        clusterBinding("b", "r", { kind: "User", name: "alice" }),
      );
      const { decision } = await authorizer.authorize(ask(asked));
      assert.equal(decision, allowed ? "allow" : "noOpinion");
    });
  }
});

describe("RBAC subjects", () => {
  const READ = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
  const bot: User = { name: "system:serviceaccount:ns:bot", groups: [] };

  test("through a binding in the namespace, with the binding as reason", async () => {
    const { objects, authorizer } = world();
    objects.put(roleKind, role("ns", "r", READ));
    objects.put(
      roleBindingKind,
      binding("ns", "rb", ref("Role", "r"), { kind: "Group", name: "dev" }),
    );
    assert.deepEqual(await authorizer.authorize(ask()), {
      decision: "allow",
      reason: 'RBAC: allowed by RoleBinding "rb/ns" of Role "r" to Group "dev"',
    });
    const elsewhere = await authorizer.authorize(ask({ namespace: "other" }));
    assert.equal(elsewhere.decision, "noOpinion");
  });

  test("a service account may be named without its namespace", async () => {
    const { objects, authorizer } = world();
    objects.put(clusterRoleKind, clusterRole("view", READ));
    const subject = { kind: "ServiceAccount", name: "bot" };
    objects.put(roleBindingKind, binding("ns", "rb", ref("ClusterRole", "view"), subject));
    assert.deepEqual(await authorizer.authorize(ask({ user: bot })), {
      decision: "allow",
      reason:
        'RBAC: allowed by RoleBinding "rb/ns" of ClusterRole "view" to ServiceAccount "bot/ns"',
    });
  });

  test("a binding to a missing role is reported in the reason", async () => {
    const { objects, authorizer } = world();
    objects.put(clusterRoleBindingKind, clusterBinding("a", "x", { kind: "User", name: "alice" }));
    objects.put(
      roleBindingKind,
      binding("ns", "b", ref("Role", "y"), { kind: "User", name: "alice" }),
    );
    const { decision, reason } = await authorizer.authorize(ask({ name: "p" }));
    assert.equal(decision, "noOpinion");
    assert.equal(
      accessDeniedStatus(ask({ name: "p" }), reason).message,
      'pods "p" is forbidden: User "alice" cannot get resource "pods" in API group "" in the ' +
        'namespace "ns": RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found, ' +
        'role.rbac.authorization.k8s.io "y" not found]',
    );
  });

  test("RBAC: changes of roles and bindings apply at once", async () => {
    const { objects, authorizer } = world();
    const decide = async (): Promise<string> => (await authorizer.authorize(ask())).decision;
    objects.put(clusterRoleBindingKind, clusterBinding("b", "r", { kind: "User", name: "alice" }));
    assert.equal(await decide(), "noOpinion");
    objects.put(clusterRoleKind, clusterRole("r", READ));
    assert.equal(await decide(), "allow");
    objects.put(clusterRoleBindingKind, clusterBinding("b", "r", { kind: "User", name: "bob" }));
    assert.equal(await decide(), "noOpinion");
    objects.put(clusterRoleBindingKind, clusterBinding("b", "r", { kind: "Group", name: "dev" }));
    assert.equal(await decide(), "allow");
    await objects.delete(clusterRoleBindingKind, "", "b");
    assert.equal(await decide(), "noOpinion");
  });
});

describe("authorization: the authorizer chain", () => {
  test("members of system:masters may do anything, without a reason", async () => {
    const root = { name: "root", groups: ["system:masters"] };
    const chain = chainAuthorizers([alwaysDeny]);
    assert.deepEqual(await chain.authorize(ask({ user: root })), { decision: "allow", reason: "" });
  });

  test("an asynchronous authorizer is awaited", async () => {
    const later: Authorizer = {
      name: "later",
      authorize: async () => ({ decision: "noOpinion", reason: "not me" }),
    };
    assert.equal((await chainAuthorizers([later, alwaysAllow]).authorize(ask())).decision, "allow");
    assert.equal(
      (await chainAuthorizers([later, alwaysDeny]).authorize(ask())).reason,
      "not me\nEverything is forbidden.",
    );
  });
});

describe("RBAC privilege escalation", () => {
  const HELD = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods", "pods/log"] };

  async function attempt(
    kind: Kind,
    object: Role | ClusterRole | RoleBinding | ClusterRoleBinding,
    prepare: (objects: MemoryObjects) => void = () => undefined,
    old?: Role,
  ): Promise<string | undefined> {
    const { objects, rules, authorizer } = world();
    objects.put(clusterRoleKind, clusterRole("held", HELD));
    objects.put(
      clusterRoleBindingKind,
      clusterBinding("h", "held", { kind: "User", name: "alice" }),
    );
    prepare(objects);
    const check = createEscalationCheck(rules, authorizer);
    const { status } = await admitWith(check, kind, object, {
      objects,
      user: alice,
      ...(old && { old }),
    });
    return status?.message;
  }

  test("a user may grant the rules that they hold", async () => {
    assert.equal(await attempt(roleKind, role("ns", "r", HELD)), undefined);
  });

  test("what is not held is listed, one line per resource", async () => {
    const wanted = {
      verbs: ["get", "create", "delete"],
      apiGroups: [""],
      resources: ["pods", "nodes"],
    };
    const url = { verbs: ["get"], nonResourceURLs: ["/x"] };
    assert.equal(
      await attempt(clusterRoleKind, clusterRole("r", wanted, url)),
      'clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["dev" ' +
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "create" "delete"]}\n' +
        '{APIGroups:[""], Resources:["pods"], Verbs:["create" "delete"]}\n' +
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
    );
  });

  test("an aggregated role needs everything", async () => {
    const aggregated = { ...clusterRole("r"), aggregationRule: { clusterRoleSelectors: [{}] } };
    assert.equal(
      await attempt(clusterRoleKind, aggregated),
      'clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin ' +
        "privileges to use the aggregationRule",
    );
  });

  const powers = [
    { name: "escalate", rule: { verbs: ["escalate"], apiGroups: [API], resources: ["roles"] } },
  ];
  for (const { name, rule } of powers) {
    test(`a user who may ${name} may grant any rule`, async () => {
      const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
      const message = await attempt(roleKind, role("ns", "r", all), (objects) =>
        objects.put(clusterRoleKind, clusterRole("held", rule)),
      );
      assert.equal(message, undefined);
    });
  }

  const toBoss = binding("ns", "rb", ref("ClusterRole", "boss"), { kind: "User", name: "bob" });
  const boss = clusterRole("boss", { verbs: ["*"], apiGroups: ["*"], resources: ["*"] });

  test("a role that is not held cannot be bound", async () => {
    assert.equal(
      await attempt(roleBindingKind, toBoss, (objects) => objects.put(clusterRoleKind, boss)),
      'rolebindings.rbac.authorization.k8s.io "rb" is forbidden: user "alice" (groups=["dev" ' +
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
    );
  });

  test("the verb bind allows a binding of the role", async () => {
    const bind = {
      verbs: ["bind"],
      apiGroups: [API],
      resources: ["clusterroles"],
      resourceNames: ["boss"],
    };
    const message = await attempt(roleBindingKind, toBoss, (objects) => {
      objects.put(clusterRoleKind, boss);
      objects.put(clusterRoleKind, clusterRole("held", bind));
    });
    assert.equal(message, undefined);
  });

  test("a role that is not there cannot be bound", async () => {
    assert.equal(
      await attempt(roleBindingKind, toBoss),
      'rolebindings.rbac.authorization.k8s.io "boss" not found',
    );
  });

  test("finalizers may be taken off a role that is not held", async () => {
    const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
    const old = {
      ...role("ns", "r", all),
      metadata: { name: "r", namespace: "ns", finalizers: ["f"] },
    };
    const next = role("ns", "r", all);
    assert.equal(await attempt(roleKind, next, undefined, old), undefined);
    const widened = role("ns", "r", all, HELD);
    assert.match((await attempt(roleKind, widened, undefined, old))!, /attempting to grant/);
  });
});
