import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { startCluster } from "#testing/cluster.ts";
import { copyConfig } from "./copy-config.ts";

test("the example: copies follow their source, in old and new namespaces", async () => {
  await using cluster = await startCluster({ controllers: [copyConfig] });
  const label = { "example.com/copy": "everywhere" };
  for (const name of ["default", "a"]) await cluster.seed(namespaceKind, { metadata: { name } });
  await cluster.seed(configMapKind, {
    metadata: { name: "colours", labels: label },
    data: { sky: "blue" },
  });
  await cluster.seed(configMapKind, { metadata: { name: "private" }, data: { sky: "red" } });
  assert.deepEqual(cluster.get(configMapKind, "colours", "a")?.data, { sky: "blue" });
  await cluster.seed(namespaceKind, { metadata: { name: "b" } });
  assert.deepEqual(cluster.get(configMapKind, "colours", "b")?.data, { sky: "blue" });
  await cluster.edit(configMapKind, "colours", (map) => void (map.data = { sky: "grey" }));
  assert.deepEqual(cluster.get(configMapKind, "colours", "a")?.data, { sky: "grey" });
  await cluster.edit(configMapKind, "colours", (map) => void (map.data = { sky: "mine" }), "a");
  assert.deepEqual(cluster.get(configMapKind, "colours", "a")?.data, { sky: "grey" });
  assert.deepEqual(cluster.names(configMapKind, "a"), ["colours"]);
});
