/** Roles and their bindings. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { RoleBinding } from "#api/generated/rbac.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { clusterRoleBindingKind, roleBindingKind } from "./bindings.ts";
import { clusterRoleKind, roleKind } from "./roles.ts";

const GROUP = "rbac.authorization.k8s.io";
const URLS = { verbs: ["get"], nonResourceURLs: ["/healthz"] };
const PODS = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
const selectors = (...clusterRoleSelectors: object[]) => ({
  rules: [],
  aggregationRule: { clusterRoleSelectors },
});

describe("roles", () => {
  const rows = [
    {
      name: "a rule about nothing",
      kind: roleKind,
      object: { rules: [{}] },
      faults: [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
      ],
    },
    {
      name: "addresses in a namespace",
      kind: roleKind,
      object: { rules: [URLS] },
      faults: [
        'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs',
      ],
    },
    {
      name: "addresses and resources at once",
      kind: clusterRoleKind,
      object: { rules: [URLS, { ...PODS, ...URLS }] },
      faults: [
        'rules[1].nonResourceURLs: Invalid value: ["/healthz"]: rules cannot apply to both regular resources and non-resource URLs',
      ],
    },
    {
      name: "a sum of nothing",
      kind: clusterRoleKind,
      object: selectors(),
      faults: [
        "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
      ],
    },
    {
      name: "an aggregationRule with an unknown operator",
      kind: clusterRoleKind,
      object: selectors({ matchExpressions: [{ key: "a", operator: "Like" }] }),
      faults: [
        'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
        "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
      ],
    },
  ];
  for (const { name, kind, object, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, { object }).faults, faults));
  }

  test("names may hold colons", () => {
    const object = { metadata: { name: "system:A" }, rules: [PODS] };
    assert.deepEqual(runKind(roleKind, { object }).faults, []);
  });
});

describe("bindings", () => {
  const roleRef = { kind: "ClusterRole", name: "r" };
  const rows = [
    {
      name: "no role",
      kind: roleBindingKind,
      write: { object: { roleRef: {} } },
      faults: [
        'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
        "roleRef.name: Required value",
      ],
    },
    {
      name: "a role for the whole cluster",
      kind: clusterRoleBindingKind,
      write: { object: { roleRef: { apiGroup: "g", kind: "Role", name: "a/b" } } },
      faults: [
        `roleRef.apiGroup: Unsupported value: "g": supported values: "${GROUP}"`,
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        "roleRef.name: Invalid value: \"a/b\": may not contain '/'",
      ],
    },
    {
      name: "invalid subjects",
      kind: clusterRoleBindingKind,
      write: {
        object: {
          roleRef,
          subjects: [
            { kind: "Robot", name: "" },
            { kind: "User", name: "u", apiGroup: "g" },
            { kind: "ServiceAccount", name: "s", apiGroup: GROUP },
          ],
        },
      },
      faults: [
        "subjects[0].name: Required value",
        'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
        `subjects[1].apiGroup: Unsupported value: "g": supported values: "${GROUP}"`,
        `subjects[2].apiGroup: Unsupported value: "${GROUP}": supported values: ""`,
        "subjects[2].namespace: Required value",
      ],
    },
    {
      name: "another role",
      kind: roleBindingKind,
      write: { object: { roleRef: { ...roleRef, name: "s" } }, old: { roleRef } },
      faults: [
        `roleRef: Invalid value: {"APIGroup":"${GROUP}","Kind":"ClusterRole","Name":"s"}: cannot change roleRef`,
      ],
    },
  ];
  for (const { name, kind, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, write).faults, faults));
  }

  test("groups by default, and who is shown where", () => {
    const outcome = runKind(roleBindingKind, {
      object: {
        roleRef,
        subjects: [
          { kind: "User", name: "u" },
          { kind: "User", name: "v" },
          { kind: "Group", name: "g" },
          { kind: "ServiceAccount", name: "s", namespace: "ns" },
          { kind: "ServiceAccount", name: "here" },
        ],
      },
    });
    assert.deepEqual(outcome.faults, []);
    const { roleRef: role, subjects } = outcome.object as RoleBinding;
    assert.equal(role.apiGroup, GROUP);
    assert.deepEqual(
      subjects?.map(({ apiGroup }) => apiGroup),
      [GROUP, GROUP, GROUP, undefined, undefined],
    );
    assert.deepEqual(cellsOf(roleBindingKind, outcome), [
      "x",
      "ClusterRole/r",
      "<unknown>",
      "u, v",
      "g",
      "ns/s, /here",
    ]);
  });
});
