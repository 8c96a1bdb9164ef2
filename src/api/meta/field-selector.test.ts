import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import {
  exactField,
  formatFieldSelector,
  matchesFields,
  parseFieldSelector,
  unknownFieldText,
  unsupportedFieldText,
} from "./field-selector.ts";

describe("field selector: canonical text", () => {
  const rows: readonly (readonly [text: string, canonical: string])[] = [
    ["", ""],
    [",", ""],
    ["=,a=1,!=", "a=1"],
    ["b=2,a=1", "a=1,b=2"],
    ["a==1", "a=1"],
    ["a!=1", "a!=1"],
    ["a=", "a="],
    ["=x", "=x"],
    ["a=b\\,c\\=d\\\\", "a=b\\,c\\=d\\\\"],
    ["a!b=c", "a!b=c"],
  ];
  for (const [text, canonical] of rows) {
    test(JSON.stringify(text), () => {
      const parsed = parseFieldSelector(text);
      assert.ok(parsed.ok);
      assert.equal(formatFieldSelector(parsed.value), canonical);
    });
  }
});

describe("field selector: refused texts", () => {
  const rows: readonly (readonly [text: string, error: string])[] = [
    ["b,a", "invalid selector: 'b,a'; can't understand 'a'"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    ["a=b\\x", "invalid field selector: invalid escape sequence: \\x"],
    ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
  ];
  for (const [text, error] of rows) {
    test(text, () => assert.deepEqual(parseFieldSelector(text), { ok: false, error }));
  }
  test("fields that cannot be selected", () => {
    assert.equal(
      unknownFieldText("data.k"),
      '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
    assert.equal(unsupportedFieldText("spec.x"), "field label not supported: spec.x");
    assert.equal(
      unsupportedFieldText("x", "resource.k8s.io/v1, Kind=ResourceSlice"),
      "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x",
    );
  });
});

test("field selector: matching", () => {
  const fields = { "metadata.name": "a", "status.phase": "Running" };
  const matches = (text: string) => {
    const parsed = parseFieldSelector(text);
    assert.ok(parsed.ok);
    return matchesFields(parsed.value, fields);
  };
  assert.equal(matches(""), true);
  assert.equal(matches("metadata.name=a,status.phase!=Failed"), true);
  assert.equal(matches("metadata.name=a,status.phase=Failed"), false);
  assert.equal(matches("constructor="), true);
  const parsed = parseFieldSelector("metadata.name=a,status.phase!=Failed");
  assert.ok(parsed.ok);
  assert.equal(exactField(parsed.value, "metadata.name"), "a");
  assert.equal(exactField(parsed.value, "status.phase"), undefined);
});

test("field selector: any value survives escaping", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."ab,=\\! \u00e9") }), (value) => {
      const selector = [{ field: "f", operator: "=", value }] as const;
      assert.deepEqual(parseFieldSelector(formatFieldSelector(selector)), {
        ok: true,
        value: selector,
      });
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("any text ends in a selector or an error", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."ab,=\\!\n") }), (text) => {
      const parsed = parseFieldSelector(text);
      if (parsed.ok) formatFieldSelector(parsed.value);
    }),
    { seed: 2, numRuns: 2000 },
  );
});
