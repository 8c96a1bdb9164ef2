import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { parseMetadata } from "./parse-metadata.ts";

const IDENTITY = { name: "a", uid: "u", resourceVersion: "7" };
const FIELDS = [{ manager: "m", fieldsV1: { "f:spec": {} } }];

describe("parseMetadata", () => {
  const rows: { name: string; object: unknown; want: unknown }[] = [
    {
      name: "metadata up to managedFields, nothing of the spec",
      object: {
        kind: "Pod",
        metadata: { ...IDENTITY, labels: { a: "b" }, managedFields: FIELDS },
        spec: { nodeName: "n" },
      },
      want: { metadata: { ...IDENTITY, labels: { a: "b" } } },
    },
    {
      name: "an object without managedFields is left to others",
      object: { metadata: IDENTITY, spec: {} },
      want: undefined,
    },
    {
      name: "a uid behind managedFields is left to others",
      object: { metadata: { name: "a", managedFields: FIELDS, uid: "u", resourceVersion: "7" } },
      want: undefined,
    },
    {
      name: "managedFields of a spec behind the metadata",
      object: { metadata: IDENTITY, spec: { a: 1, managedFields: FIELDS } },
      want: { metadata: IDENTITY },
    },
    {
      name: "managedFields of a spec before the metadata",
      object: { spec: { a: 1, managedFields: FIELDS }, metadata: IDENTITY },
      want: undefined,
    },
    {
      name: "managedFields at the root of the object",
      object: { metadata: IDENTITY, managedFields: FIELDS },
      want: undefined,
    },
    {
      name: "managedFields deep in the spec",
      object: { metadata: IDENTITY, spec: { b: { c: 1, managedFields: FIELDS } } },
      want: undefined,
    },
    {
      name: "a label that reads like managedFields",
      object: {
        metadata: { ...IDENTITY, labels: { text: ',"managedFields":[' }, managedFields: FIELDS },
      },
      want: { metadata: { ...IDENTITY, labels: { text: ',"managedFields":[' } } },
    },
    {
      name: "a list is left to others",
      object: [{ metadata: IDENTITY }, { managedFields: FIELDS }],
      want: undefined,
    },
  ];
  for (const { name, object, want } of rows) {
    test(name, () => assert.deepEqual(parseMetadata(JSON.stringify(object)), want));
  }

  test("text that is no JSON is undefined", () => {
    assert.equal(parseMetadata('ok,"managedFields":['), undefined);
  });

  test("what it returns is the beginning of the object's metadata, whatever the order of members", () => {
    const name = fc.constantFrom(
      "metadata",
      "spec",
      "managedFields",
      "uid",
      "resourceVersion",
      "a",
    );
    const quoted = fc.constantFrom('"', "\\n", ',"managedFields":[', 'x","managedFields', "a");
    const { value } = fc.letrec((tie) => ({
      object: fc.dictionary(fc.oneof(name, quoted), tie("value"), { maxKeys: 5 }),
      value: fc.oneof(
        { maxDepth: 4 },
        quoted,
        fc.integer(),
        fc.array(tie("value"), { maxLength: 3 }),
        tie("object"),
      ),
    }));
    const all = (names: readonly string[]): fc.Arbitrary<object> =>
      fc
        .tuple(fc.shuffledSubarray([...names], { minLength: names.length - 1 }), fc.array(value))
        .map(([keys, values]) => Object.fromEntries(keys.map((key, n) => [key, values[n] ?? "x"])));
    const whole = fc
      .tuple(
        all(["uid", "resourceVersion", "managedFields", "finalizers", "labels"]),
        all(["spec", "metadata", "status", "managedFields"]),
      )
      .map(([metadata, object]) => ({ ...object, metadata: { ...metadata, managedFields: [] } }));
    let found = 0;
    fc.assert(
      fc.property(whole, (object) => {
        const part = parseMetadata(JSON.stringify(object));
        if (part === undefined) return;
        found += 1;
        const entries = Object.entries(object.metadata);
        const count = Object.keys(part.metadata).length;
        assert.equal(
          JSON.stringify(Object.entries(part.metadata)),
          JSON.stringify(entries.slice(0, count)),
        );
      }),
      { numRuns: 2_000 },
    );
    assert.ok(found > 100, `${found} of 2,000 were found`);
  });
});
