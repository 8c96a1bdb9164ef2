import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { startCluster } from "#testing/cluster.ts";
import { withoutManagedFields } from "./without-managed-fields.ts";

test("managedFields: an update of an object without them leaves those of other managers", async () => {
  await using cluster = await startCluster();
  await cluster.seed(configMapKind, { metadata: { name: "a" }, data: { x: "1" } });
  const before = cluster.get(configMapKind, "a");
  assert.equal(before?.metadata.managedFields?.length, 1);
  const cached = withoutManagedFields(before);
  assert.deepEqual(Object.keys(before.metadata).toSorted(), [
    ...[...Object.keys(cached.metadata), "managedFields"].toSorted(),
  ]);
  const changed = { ...cached, data: { x: "1", y: "2" } };
  const updated = await cluster.client.update(configMapKind, changed, { fieldManager: "other" });
  assert.ok(updated.ok);
  const managers = updated.value.metadata.managedFields?.map(({ manager }) => manager);
  assert.deepEqual(managers?.length, 2);
  assert.ok(managers.includes("other"));
});

test("managedFields: an object without them is not copied", () => {
  const object = { metadata: { name: "a" } };
  assert.equal(withoutManagedFields(object), object);
});
