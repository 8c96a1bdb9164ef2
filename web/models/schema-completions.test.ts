import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { type OpenApiDocument, schemaCompletions, schemaOfKind } from "./schema-completions.ts";

const DOCUMENT: OpenApiDocument = {
  components: {
    schemas: {
      Pod: {
        "x-kubernetes-group-version-kind": [{ group: "", version: "v1", kind: "Pod" }],
        properties: {
          kind: { type: "string" },
          spec: { allOf: [{ $ref: "#/components/schemas/PodSpec" }], description: "wanted" },
        },
      },
      PodSpec: {
        required: ["containers"],
        properties: {
          containers: { type: "array", items: { $ref: "#/components/schemas/Container" } },
          hostNetwork: { type: "boolean" },
          dnsPolicy: { type: "string", enum: ["ClusterFirst", "None"] },
          nodeSelector: { type: "object", additionalProperties: { type: "string" } },
        },
      },
      Container: {
        properties: {
          image: { type: "string", description: "what runs" },
          name: { type: "string" },
          ports: { type: "array", items: { properties: { containerPort: { type: "integer" } } } },
        },
      },
    },
  },
};

const rows = [
  { name: "fields of the top level are offered", text: "|", want: ["kind", "spec"] },
  {
    name: "a word in a field",
    text: "spec:\n  ho|",
    want: ["containers", "dnsPolicy", "hostNetwork", "nodeSelector"],
  },
  {
    name: "the first line of a list item",
    text: "spec:\n  containers:\n  - na|",
    want: ["image", "name", "ports"],
  },
  {
    name: "an indented list item",
    text: "spec:\n  containers:\n    - na|",
    want: ["image", "name", "ports"],
  },
  {
    name: "a later line of a list item",
    text: "spec:\n  containers:\n  - name: a\n    |",
    want: ["image", "name", "ports"],
  },
  {
    name: "a second item",
    text: "spec:\n  containers:\n  - name: a\n    image: b\n  - |",
    want: ["image", "name", "ports"],
  },
  {
    name: "a list in a list",
    text: "spec:\n  containers:\n  - name: a\n    ports:\n    - |",
    want: ["containerPort"],
  },
  {
    name: "back from a list",
    text: "spec:\n  containers:\n  - name: a\n  dns|",
    want: ["containers", "dnsPolicy", "hostNetwork", "nodeSelector"],
  },
  {
    name: "values of an enumeration",
    text: "spec:\n  dnsPolicy: C|",
    want: ["ClusterFirst", "None"],
  },
  { name: "values of a boolean", text: "spec:\n  hostNetwork: |", want: ["true", "false"] },
  { name: "a field that is not in the schema", text: "other:\n  |", want: [] },
];

describe("YAML completion from OpenAPI", () => {
  const root = schemaOfKind(DOCUMENT, { group: "", version: "v1", kind: "Pod" })!;
  for (const { name, text, want } of rows) {
    test(name, () => {
      const offset = text.indexOf("|");
      const { options } = schemaCompletions(DOCUMENT, root, text.replace("|", ""), offset);
      assert.deepEqual(
        options.map(({ label }) => label),
        want,
      );
    });
  }

  test("the typed word is replaced, fields show their type and description", () => {
    const text = "spec:\n  containers:\n  - im";
    const { from, options } = schemaCompletions(DOCUMENT, root, text, text.length);
    assert.equal(text.slice(from), "im");
    assert.deepEqual(options[0], {
      label: "image",
      detail: "string",
      info: "what runs",
      text: "image:",
    });
  });
});
