import assert from "node:assert/strict";
import { test } from "vitest";
import { appliedFault } from "#api/apply/validate.ts";
import { appliedSchema } from "./applied-schema.ts";

const schema = appliedSchema(
  {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          at: { type: "string", format: "date-time" },
          name: { type: "string" },
          bytes: { type: "string", format: "byte" },
          either: { "x-kubernetes-int-or-string": true },
        },
      },
    },
  },
  "com.example.v1.Thing",
);

test("server-side apply of a custom resource: an int-or-string takes anything", () => {
  const spec = { either: [null] };
  const applied = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a" }, spec };
  assert.equal(appliedFault(applied, schema), undefined);
});

const rows: readonly (readonly [object, string | undefined])[] = [
  [{ at: 1 }, undefined],
  [{ at: [] }, ".spec.at: expected any scalar, got &{[]}"],
  [{ name: 1 }, ".spec.name: expected string, got &value.valueUnstructured{Value:1}"],
  [{ bytes: 1 }, ".spec.bytes: expected string, got &value.valueUnstructured{Value:1}"],
];

test.each(rows)(
  "server-side apply of a custom resource: a string with a format takes any scalar: %j",
  (spec, fault) => {
    const applied = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a" }, spec };
    assert.equal(appliedFault(applied, schema), fault);
  },
);
