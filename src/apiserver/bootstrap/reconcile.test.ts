import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { flowSchemaKind } from "#api/kinds/flowcontrol/v1/flow-schema.ts";
import { priorityLevelConfigurationKind } from "#api/kinds/flowcontrol/v1/priority-level-configuration.ts";
import { clusterRoleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import { priorityClassKind } from "#api/kinds/scheduling/v1/priority-class.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { reconcileAccess, reconcileFlowControl, reconcilePriorityClasses } from "./reconcile.ts";

async function reconcileAll(objects: MemoryObjects): Promise<void> {
  assert.deepEqual(await reconcileAccess(objects), []);
  assert.deepEqual(await reconcileFlowControl(objects, 0), []);
  assert.deepEqual(await reconcilePriorityClasses(objects), []);
}

describe("bootstrap of RBAC objects in a new cluster", () => {
  test("gets all objects of the tables", async () => {
    const objects = new MemoryObjects();
    await reconcileAll(objects);
    assert.equal(objects.list(clusterRoleKind).length, 69);
    assert.equal(objects.list(clusterRoleBindingKind).length, 50);
    assert.equal(objects.list(flowSchemaKind).length, 11);
    assert.equal(objects.list(priorityLevelConfigurationKind).length, 8);
    assert.equal(objects.list(priorityClassKind).length, 2);
  });

  test("feature ClusterTrustBundle: service accounts and nodes may read trust bundles", async () => {
    const name = "system:cluster-trust-bundle-discovery";
    const off = new MemoryObjects();
    await reconcileAll(off);
    assert.equal(off.get(clusterRoleKind, "", name), undefined);
    const objects = new MemoryObjects();
    assert.deepEqual(await reconcileAccess(objects, ["ClusterTrustBundle"]), []);
    const rule = {
      verbs: ["get", "list", "watch"],
      apiGroups: ["certificates.k8s.io"],
      resources: ["clustertrustbundles"],
    };
    assert.deepEqual(objects.get(clusterRoleKind, "", name)!.rules, [rule]);
    const { subjects, roleRef } = objects.get(clusterRoleBindingKind, "", name)!;
    assert.equal(roleRef.name, name);
    assert.deepEqual(
      subjects?.map((one) => one.name),
      ["system:serviceaccounts"],
    );
    assert.deepEqual(objects.get(clusterRoleKind, "", "system:node")!.rules!.at(-1), rule);
  });

  test("aggregated ClusterRoles admin, edit and view", async () => {
    const objects = new MemoryObjects();
    await reconcileAll(objects);
    const count = (name: string): number => objects.get(clusterRoleKind, "", name)!.rules!.length;
    assert.equal(count("edit"), count("system:aggregate-to-edit") + count("view"));
    assert.equal(count("admin"), count("edit") + count("system:aggregate-to-admin"));
  });

  test("a second start writes no bootstrap objects", async () => {
    const objects = new MemoryObjects();
    await reconcileAll(objects);
    const before = objects.list(clusterRoleKind).map(({ metadata }) => metadata.resourceVersion);
    const flows = objects.list(flowSchemaKind).map(({ metadata }) => metadata.resourceVersion);
    await reconcileAll(objects);
    assert.deepEqual(
      objects.list(clusterRoleKind).map((one) => one.metadata.resourceVersion),
      before,
    );
    assert.deepEqual(
      objects.list(flowSchemaKind).map((one) => one.metadata.resourceVersion),
      flows,
    );
  });
});

describe("reconciliation of changed RBAC bootstrap objects", () => {
  const KUBE_DNS = "system:kube-dns";
  const WANTED = {
    verbs: ["list", "watch"],
    apiGroups: [""],
    resources: ["endpoints", "services"],
  };
  const OWN = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };

  async function rulesAfter(rules: object[], annotation: string | undefined): Promise<unknown> {
    const objects = new MemoryObjects();
    await reconcileAll(objects);
    const old = objects.get(clusterRoleKind, "", KUBE_DNS)!;
    const annotations =
      annotation === undefined ? {} : { "rbac.authorization.kubernetes.io/autoupdate": annotation };
    objects.put(clusterRoleKind, {
      ...old,
      metadata: { ...old.metadata, annotations },
      rules: rules as typeof old.rules,
    });
    await reconcileAll(objects);
    return objects.get(clusterRoleKind, "", KUBE_DNS)!.rules;
  }

  test("missing rules are restored, and added rules stay", async () => {
    const half = { ...WANTED, resources: ["endpoints"] };
    assert.deepEqual(await rulesAfter([half, OWN], "true"), [
      half,
      OWN,
      { verbs: ["list"], apiGroups: [""], resources: ["services"] },
      { verbs: ["watch"], apiGroups: [""], resources: ["services"] },
    ]);
  });

  test("a role that opted out is left alone", async () => {
    assert.deepEqual(await rulesAfter([OWN], "false"), [OWN]);
  });

  test("a binding to another role is replaced", async () => {
    const objects = new MemoryObjects();
    await reconcileAll(objects);
    const old = objects.get(clusterRoleBindingKind, "", "cluster-admin")!;
    const roleRef = { ...old.roleRef, name: "view" };
    objects.put(clusterRoleBindingKind, { ...old, roleRef, subjects: [] });
    await reconcileAll(objects);
    const now = objects.get(clusterRoleBindingKind, "", "cluster-admin")!;
    assert.deepEqual([now.roleRef, now.subjects], [old.roleRef, old.subjects]);
  });

  test("missing subjects are restored, and added subjects stay", async () => {
    const objects = new MemoryObjects();
    await reconcileAll(objects);
    const old = objects.get(clusterRoleBindingKind, "", "system:discovery")!;
    const bob = { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "bob" };
    objects.put(clusterRoleBindingKind, { ...old, subjects: [bob] });
    await reconcileAll(objects);
    const now = objects.get(clusterRoleBindingKind, "", "system:discovery")!;
    assert.deepEqual(now.subjects, [bob, ...old.subjects!]);
  });

  const schemas = [
    {
      name: "a suggested schema is restored",
      schema: "service-accounts",
      mark: "true",
      back: true,
    },
    {
      name: "a changed FlowSchema with autoupdate-spec false is kept",
      schema: "service-accounts",
      mark: "false",
      back: false,
    },
    {
      name: "a changed mandatory FlowSchema is reset even with autoupdate-spec false",
      schema: "catch-all",
      mark: "false",
      back: true,
    },
  ];
  for (const { name, schema, mark, back } of schemas) {
    test(name, async () => {
      const objects = new MemoryObjects();
      await reconcileAll(objects);
      const old = objects.get(flowSchemaKind, "", schema)!;
      const annotations = { "apf.kubernetes.io/autoupdate-spec": mark };
      objects.put(flowSchemaKind, {
        ...old,
        metadata: { ...old.metadata, annotations },
        spec: { ...old.spec, matchingPrecedence: 7 },
      });
      await reconcileAll(objects);
      const now = objects.get(flowSchemaKind, "", schema)!;
      assert.equal(now.spec.matchingPrecedence, back ? old.spec.matchingPrecedence : 7);
    });
  }
});
