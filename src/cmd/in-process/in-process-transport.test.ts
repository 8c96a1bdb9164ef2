import assert from "node:assert/strict";
import { test } from "vitest";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import { startCluster } from "#testing/cluster.ts";

test("in-process transport: a name with a colon (ClusterRole system:node) is found", async () => {
  await using cluster = await startCluster({ secured: true });
  const found = await cluster.client.get(clusterRoleKind, { name: "system:node" });
  assert.ok(found.ok, found.ok ? "" : found.status.message);
  assert.equal(found.value.metadata.name, "system:node");
});
