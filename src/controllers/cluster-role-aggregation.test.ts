import assert from "node:assert/strict";
import { test } from "vitest";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import { startCluster } from "#testing/cluster.ts";
import { clusterRoleAggregation } from "./cluster-role-aggregation.ts";

const READ = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const WRITE = { apiGroups: [""], resources: ["pods"], verbs: ["create"] };

test("cluster role aggregation: rules follow the selected roles, each once, in order of name", async () => {
  await using cluster = await startCluster({ controllers: [clusterRoleAggregation] });
  const labels = { aggregate: "yes" };
  await cluster.seed(clusterRoleKind, {
    metadata: { name: "all" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: labels }] },
  });
  await cluster.seed(clusterRoleKind, { metadata: { name: "z", labels }, rules: [READ, WRITE] });
  await cluster.seed(clusterRoleKind, { metadata: { name: "b", labels }, rules: [WRITE] });
  await cluster.seed(clusterRoleKind, {
    metadata: { name: "other" },
    rules: [{ ...READ, resources: ["secrets"] }],
  });
  assert.deepEqual(cluster.get(clusterRoleKind, "all")?.rules, [WRITE, READ]);
  await cluster.edit(clusterRoleKind, "z", (role) => void (role.metadata.labels = {}));
  assert.deepEqual(cluster.get(clusterRoleKind, "all")?.rules, [WRITE]);
});
