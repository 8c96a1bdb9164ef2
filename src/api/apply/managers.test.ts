import assert from "node:assert/strict";
import { test } from "vitest";
import { capUpdaters, decodeManagers, type Manager } from "./managers.ts";

function entries(count: number): object[] {
  return Array.from({ length: count }, (_, n) => ({
    manager: `m${n}`,
    operation: "Update",
    apiVersion: "v1",
    time: "2030-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:metadata": { "f:labels": { [`f:${n}`]: {} } } },
  }));
}

test("managedFields: more than 1,000 entries cannot be decoded", () => {
  assert.equal(decodeManagers(entries(1_000)).ok, true);
  assert.deepEqual(decodeManagers(entries(1_001)), {
    ok: false,
    error: "must have at most 1000 managed fields entries",
  });
});

test("managedFields: surplus updaters become ancient-changes, which owns all their fields", () => {
  const decoded = decodeManagers(entries(1_000));
  assert.ok(decoded.ok);
  const capped = capUpdaters(decoded.value);
  assert.equal(capped.length, 10);
  const ancient = capped.find(({ name }) => name === "ancient-changes") as Manager;
  const labels = ancient.fields["f:metadata"]?.["f:labels"] ?? {};
  assert.equal(Object.keys(labels).length, 991);
  assert.equal(capUpdaters(capped), capped);
});
