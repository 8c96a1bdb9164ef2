import assert from "node:assert/strict";
import { test } from "vitest";
import type { CustomResourceDefinition, JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { build, type Draft } from "#testing/build.ts";
import { customResourceDefinitionKind } from "./custom-resource-definition.ts";
import { nonStructuralCondition } from "./non-structural.ts";

function stored(
  preserveUnknownFields: boolean,
  openAPIV3Schema: Draft<JSONSchemaProps>,
): CustomResourceDefinition {
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  const spec = { preserveUnknownFields, versions };
  return build(customResourceDefinitionKind, { metadata: { name: "d" }, spec });
}

const untyped = { type: "object", properties: { spec: { properties: {} } } };

test("NonStructuralSchema: none for definitions that prune", () => {
  assert.equal(nonStructuralCondition(stored(false, untyped)), undefined);
});

test("NonStructuralSchema: True with the violations", () => {
  assert.deepEqual(nonStructuralCondition(stored(true, untyped)), {
    type: "NonStructuralSchema",
    status: "True",
    reason: "Violations",
    message:
      "[spec.preserveUnknownFields: Invalid value: true: must be false, spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields]",
  });
});

test("NonStructuralSchema: Unknown if a schema cannot be read", () => {
  assert.deepEqual(nonStructuralCondition(stored(true, { $ref: "#/x" })), {
    type: "NonStructuralSchema",
    status: "Unknown",
    reason: "StructuralError",
    message:
      "failed to check validation schema for version v1: OpenAPIV3Schema '$ref' is not supported",
  });
});
