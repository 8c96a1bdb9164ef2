import assert from "node:assert/strict";
import { test } from "vitest";
import { type DefinitionText, lazyDefinition } from "./lazy-definition.ts";

const SCHEMA = {
  type: "object",
  description: 'braces in strings: } { \\" "openAPIV3Schema":{',
  properties: { openAPIV3Schema: { type: "integer", maximum: 5 }, spec: { type: "object" } },
};

function definition(changes: object = {}, version: object = {}): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com", uid: "1", ...changes },
    spec: {
      group: "example.com",
      versions: [
        { name: "v1", schema: { openAPIV3Schema: SCHEMA }, ...version },
        { name: "v2", served: false },
        { name: "v3", schema: { openAPIV3Schema: { type: "object" } } },
      ],
    },
    status: { acceptedNames: { plural: "widgets", kind: "Widget" } },
  };
}

function textOf(value: object): DefinitionText {
  return { storedText: Buffer.from(JSON.stringify(value)) };
}

test.each([
  ["CustomResourceDefinition with three versions", definition()],
  [
    "an annotation with the name openAPIV3Schema",
    definition({ annotations: { openAPIV3Schema: "{" } }),
  ],
  [
    "an object elsewhere with the name openAPIV3Schema",
    definition({ other: { openAPIV3Schema: {} } }),
  ],
  [
    "the definition as kubectl keeps it in an annotation",
    definition({ annotations: { last: JSON.stringify(definition()) } }),
  ],
  [
    "strings in a schema that end with backslashes, or have quotes and characters of several bytes",
    definition(
      {},
      { schema: { openAPIV3Schema: { description: "é\\\\", pattern: '"\\\\"}ü', title: "\\" } } },
    ),
  ],
  ["a schema that is null", definition({}, { schema: { openAPIV3Schema: null } })],
])("lazyDefinition equals the parsed text: %s", (_, value) => {
  assert.deepEqual(JSON.parse(JSON.stringify(lazyDefinition(textOf(value)))), value);
});

test("lazyDefinition reads openAPIV3Schema when it is used, and does not keep it", () => {
  const { versions } = lazyDefinition(textOf(definition())).spec;
  const read = (): unknown => versions?.[0]?.schema?.openAPIV3Schema;
  assert.deepEqual(read(), SCHEMA);
  assert.notEqual(read(), read());
});

test("lazyDefinition reads openAPIV3Schema from a text into which a resourceVersion was put", () => {
  const value = definition();
  const before = Buffer.from(JSON.stringify(value));
  const uid = '"uid":"1"';
  const after = Buffer.from(before.toString().replace(uid, `${uid},"resourceVersion":"12"`));
  const source = { storedText: before };
  const { versions } = lazyDefinition(source).spec;
  source.storedText = after;
  assert.notEqual(after.length, before.length);
  assert.deepEqual(versions?.[0]?.schema?.openAPIV3Schema, SCHEMA);
  assert.deepEqual(versions?.[2]?.schema?.openAPIV3Schema, { type: "object" });
});
