import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ClusterRole, PolicyRule } from "#api/generated/rbac.v1.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import { build } from "#testing/build.ts";
import { describeOutcome } from "#testing/decisions.ts";
import { clusterRoleAggregation } from "./cluster-role-aggregation.ts";

const rule = (resource: string): PolicyRule => ({
  apiGroups: [""],
  resources: [resource],
  verbs: ["get"],
});

function sum(rules: readonly PolicyRule[], isGoing = false): ClusterRole {
  return build(clusterRoleKind, {
    metadata: { name: "sum", ...(isGoing ? { deletionTimestamp: "2030-01-01T00:00:00Z" } : {}) },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: "sum" } }] },
    rules,
  });
}

const part = (name: string, to: string, ...rules: readonly PolicyRule[]): ClusterRole =>
  build(clusterRoleKind, { metadata: { name, labels: { to } }, rules });

const A = part("a", "sum", rule("pods"));
const B = part("b", "sum", rule("nodes"), rule("pods"));
const OTHER = part("c", "other", rule("secrets"));
const PATCH = ["patch ClusterRole sum"];

const rows: {
  name: string;
  role: ClusterRole | undefined;
  others?: readonly ClusterRole[];
  want: readonly string[];
  rules?: readonly PolicyRule[];
}[] = [
  { name: "a ClusterRole that is gone needs nothing", role: undefined, want: [] },
  {
    name: "a ClusterRole without aggregationRule is left alone",
    role: part("x", "sum", rule("pods")),
    others: [A],
    want: [],
  },
  {
    name: "the rules of the selected ClusterRoles are joined by name, each rule once",
    role: sum([]),
    others: [B, OTHER, A],
    want: PATCH,
    rules: [rule("pods"), rule("nodes")],
  },
  {
    name: "a ClusterRole that has its rules is not written",
    role: sum([rule("pods")]),
    others: [A, OTHER],
    want: [],
  },
  {
    name: "rules are emptied when no ClusterRole is selected",
    role: sum([rule("pods")]),
    want: PATCH,
    rules: [],
  },
  {
    name: "a ClusterRole that is being deleted is left alone",
    role: sum([], true),
    others: [A],
    want: [],
  },
];

describe("clusterRoleAggregation", () => {
  for (const { name, role, others = [], want, rules } of rows) {
    test(name, () => {
      const outcome = clusterRoleAggregation.decide({ role, others }, 0);
      assert.deepEqual(describeOutcome(outcome), { writes: want });
      const [write] = (outcome.writes ?? []).flat();
      const made = write?.op === "patch" ? (write.patch as ClusterRole).rules : undefined;
      assert.deepEqual(made, rules);
    });
  }
});
