import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { resolveFieldPath } from "./field-path.ts";

const text = { type: "string" };
const SCHEMA = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { "a.b": text, color: text, map: { type: "object", additionalProperties: text } },
    },
  },
};

describe("CustomResourceDefinition schema: paths to fields", () => {
  const rows = [
    { text: ".spec.color", steps: ["spec", "color"] },
    { text: ".spec['a.b']", steps: ["spec", "a.b"] },
    { text: ".spec.map.any", steps: ["spec", "map", "any"] },
    { text: "spec", fault: "expected [ or . but got: spec" },
    { text: ".", fault: "unexpected end of JSON path" },
    { text: ".spec.size", fault: "does not refer to a valid field" },
    { text: ".spec[0]", fault: "expected single quoted string but got 0" },
    { text: ".spec['color'", fault: "unexpected end of JSON path" },
    { text: ".spec['color'.x", fault: "expected ] but got ." },
  ];
  for (const { text, steps, fault } of rows) {
    test(`path ${text}: ${fault ?? "resolved"}`, () => {
      const resolved = resolveFieldPath(text, SCHEMA, true);
      assert.deepEqual(resolved.ok ? resolved.steps : resolved.fault, steps ?? fault);
    });
  }

  test("brackets are refused where array notation is not allowed", () => {
    const resolved = resolveFieldPath(".spec['color']", SCHEMA, false);
    assert.equal(!resolved.ok && resolved.fault, "array notation is not allowed");
  });
});
