import assert from "node:assert/strict";
import { test } from "vitest";
import { lazyDefinition } from "./lazy-definition.ts";

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
  ["a schema that is null", definition({}, { schema: { openAPIV3Schema: null } })],
])("lazyDefinition equals the parsed text: %s", (_, value) => {
  assert.deepEqual(
    JSON.parse(JSON.stringify(lazyDefinition(Buffer.from(JSON.stringify(value))))),
    value,
  );
});

test("lazyDefinition reads openAPIV3Schema when it is used, and does not keep it", () => {
  const { versions } = lazyDefinition(Buffer.from(JSON.stringify(definition()))).spec;
  const read = (): unknown => versions?.[0]?.schema?.openAPIV3Schema;
  assert.deepEqual(read(), SCHEMA);
  assert.notEqual(read(), read());
});
