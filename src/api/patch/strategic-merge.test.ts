import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { JsonObject } from "./json-value.ts";
import { applyStrategicMergePatch } from "./strategic-merge.ts";

const podSpec = schemaOf("core.v1.PodSpec");
const objectMeta = schemaOf("meta.v1.ObjectMeta");

interface Row {
  readonly name: string;
  readonly original: JsonObject;
  readonly patch: JsonObject;
  readonly merged: JsonObject;
  readonly schema?: typeof podSpec;
}

const containers = [
  {
    name: "c",
    image: "x:1",
    env: [
      { name: "A", value: "1" },
      { name: "B", value: "2" },
    ],
  },
  { name: "d", image: "y:1" },
];

describe("applyStrategicMergePatch: merged objects", () => {
  const rows: readonly Row[] = [
    {
      name: "scalars are replaced",
      original: { nodeName: "a", hostname: "h" },
      patch: { nodeName: "b" },
      merged: { nodeName: "b", hostname: "h" },
    },
    {
      name: "null removes a field",
      original: { nodeName: "a", hostname: "h" },
      patch: { nodeName: null, zz: null },
      merged: { hostname: "h" },
    },
    {
      name: "maps are merged by key",
      original: { nodeSelector: { a: "1", b: "2" } },
      patch: { nodeSelector: { b: null, c: "3" } },
      merged: { nodeSelector: { a: "1", c: "3" } },
    },
    {
      name: "$patch: replace replaces a map",
      original: { nodeSelector: { a: "1" } },
      patch: { nodeSelector: { $patch: "replace", z: "1" } },
      merged: { nodeSelector: { z: "1" } },
    },
    {
      name: "$patch: delete empties a map",
      original: { securityContext: { runAsUser: 1 } },
      patch: { securityContext: { $patch: "delete" } },
      merged: { securityContext: {} },
    },
    {
      name: "a directive on nothing is nothing",
      original: {},
      patch: {
        securityContext: { $patch: "delete" },
        tolerations: [{ $patch: "replace" }, { key: "k" }],
      },
      merged: { tolerations: [{ key: "k" }] },
    },
    {
      name: "nulls in what is added",
      original: {},
      patch: { affinity: { nodeAffinity: null, podAffinity: { a: null } } },
      merged: { affinity: { podAffinity: {} } },
    },
    {
      name: "lists without merge key replace",
      original: { tolerations: [{ key: "a" }] },
      patch: { tolerations: [{ key: "b" }] },
      merged: { tolerations: [{ key: "b" }] },
    },
    {
      name: "lists of objects merge by key",
      original: { containers },
      patch: { containers: [{ name: "c", env: [{ name: "B", value: "3" }] }] },
      merged: {
        containers: [
          {
            name: "c",
            image: "x:1",
            env: [
              { name: "B", value: "3" },
              { name: "A", value: "1" },
            ].reverse(),
          },
          containers[1],
        ],
      },
    },
    {
      name: "new items come first",
      original: { imagePullSecrets: [{ name: "a" }, { name: "b" }] },
      patch: { imagePullSecrets: [{ name: "c" }] },
      merged: { imagePullSecrets: [{ name: "c" }, { name: "a" }, { name: "b" }] },
    },
    {
      name: "items interleave as in the original",
      original: { imagePullSecrets: [{ name: "a" }, { name: "b" }, { name: "c" }] },
      patch: { imagePullSecrets: [{ name: "d" }, { name: "b" }] },
      merged: { imagePullSecrets: [{ name: "d" }, { name: "a" }, { name: "b" }, { name: "c" }] },
    },
    {
      name: "$patch: delete removes an item by its merge key",
      original: { containers },
      patch: { containers: [{ name: "c", $patch: "delete" }] },
      merged: { containers: [containers[1]] },
    },
    {
      name: "a list replaced from within",
      original: { containers },
      patch: { containers: [{ $patch: "replace" }, { name: "z" }] },
      merged: { containers: [{ name: "z" }] },
    },
    {
      name: "two empty lists stay empty",
      original: { containers: [] },
      patch: { containers: [] },
      merged: { containers: [] },
    },
    {
      name: "$setElementOrder orders objects",
      original: { imagePullSecrets: [{ name: "a" }, { name: "b" }] },
      patch: { "$setElementOrder/imagePullSecrets": [{ name: "b" }, { name: "a" }] },
      merged: { imagePullSecrets: [{ name: "b" }, { name: "a" }] },
    },
    {
      name: "order with a new item",
      original: { imagePullSecrets: [{ name: "a" }, { name: "b" }] },
      patch: {
        "$setElementOrder/imagePullSecrets": [{ name: "c" }, { name: "a" }],
        imagePullSecrets: [{ name: "c" }],
      },
      merged: { imagePullSecrets: [{ name: "c" }, { name: "a" }, { name: "b" }] },
    },
    {
      name: "order where nothing was",
      original: {},
      patch: {
        "$setElementOrder/imagePullSecrets": [{ name: "b" }, { name: "a" }],
        imagePullSecrets: [{ name: "b" }, { name: "a" }],
      },
      merged: { imagePullSecrets: [{ name: "b" }, { name: "a" }] },
    },
    {
      name: "$setElementOrder of a missing list is ignored",
      original: {},
      patch: { "$setElementOrder/imagePullSecrets": [] },
      merged: {},
    },
    {
      name: "order without the items just added",
      original: { imagePullSecrets: [{ name: "a" }] },
      patch: {
        "$setElementOrder/imagePullSecrets": [],
        imagePullSecrets: [{ name: "b" }, { name: "c" }],
      },
      merged: { imagePullSecrets: [{ name: "a" }, { name: "c" }, { name: "b" }] },
    },
    {
      name: "lists of scalars with patchStrategy merge are united",
      schema: objectMeta,
      original: { finalizers: ["a", "b"] },
      patch: { finalizers: ["c", "b"] },
      merged: { finalizers: ["c", "a", "b"] },
    },
    {
      name: "$deleteFromPrimitiveList removes values",
      schema: objectMeta,
      original: { finalizers: ["a", "b"] },
      patch: { "$deleteFromPrimitiveList/finalizers": ["a", "z"] },
      merged: { finalizers: ["b"] },
    },
    {
      name: "values deleted where none are",
      schema: objectMeta,
      original: {},
      patch: { "$deleteFromPrimitiveList/finalizers": ["a"] },
      merged: {},
    },
    {
      name: "values deleted, added, ordered",
      schema: objectMeta,
      original: { finalizers: ["a", "b", "c"] },
      patch: {
        "$deleteFromPrimitiveList/finalizers": ["b"],
        "$setElementOrder/finalizers": ["c", "d", "a"],
        finalizers: ["d"],
      },
      merged: { finalizers: ["c", "d", "a"] },
    },
    {
      name: "$retainKeys clears the other fields",
      original: { volumes: [{ name: "v", emptyDir: {} }] },
      patch: {
        volumes: [
          {
            name: "v",
            $retainKeys: ["name", "secret"],
            secret: { secretName: "s" },
            emptyDir: null,
          },
        ],
      },
      merged: { volumes: [{ name: "v", secret: { secretName: "s" } }] },
    },
    {
      name: "a value of another type replaces the old one",
      original: { hostname: "a" },
      patch: { hostname: { x: 1, y: null } },
      merged: { hostname: { x: 1 } },
    },
    {
      name: "$patch: replace replaces the whole object",
      original: { hostname: "a" },
      patch: { $patch: "replace", nodeName: "n" },
      merged: { nodeName: "n" },
    },
    {
      name: "unknown members are set",
      original: {},
      patch: { zz: [1, { a: null }] },
      merged: { zz: [1, {}] },
    },
  ];
  for (const { name, original, patch, merged, schema = podSpec } of rows) {
    test(name, () => {
      const given = JSON.stringify([original, patch]);
      const result = applyStrategicMergePatch(original, patch, schema);
      assert.deepEqual(result, { ok: true, value: merged });
      assert.equal(JSON.stringify([original, patch]), given);
    });
  }
});

describe("patches that cannot be carried out", () => {
  const rejected = "the server rejected our request due to an error in our request";
  const rows: readonly (readonly [
    original: JsonObject,
    patch: JsonObject,
    code: number,
    message: string,
  ])[] = [
    [{}, { $patch: "frob", a: 1 }, 500, "unknown patch type: frob in map: map[$patch:frob a:1]"],
    [{}, { $patch: "merge" }, 500, "unknown patch type: merge in map: map[$patch:merge]"],
    [
      { containers },
      { containers: [{ image: "z", x: [1, true, null] }] },
      500,
      "map: map[image:z x:[1 true <nil>]] does not contain declared merge key: name",
    ],
    [
      { containers },
      { containers: [{ $patch: "delete" }] },
      500,
      "map: map[$patch:delete] does not contain declared merge key: name",
    ],
    [
      { containers },
      { containers: [{ $patch: "merge" }] },
      500,
      "merging lists cannot yet be specified in the patch",
    ],
    [
      { containers },
      { containers: [{ $patch: "x", name: "c" }] },
      500,
      "unknown patch type: x in map: map[$patch:x name:c]",
    ],
    [
      { imagePullSecrets: [{ name: "a" }] },
      { imagePullSecrets: ["a"] },
      500,
      "list element types are not identical: [[map[name:a]] [a]]",
    ],
    [{ imagePullSecrets: [{ name: "a" }] }, { imagePullSecrets: [["a"]] }, 422, rejected],
    [{ hostname: "a" }, { $retainKeys: "x" }, 400, "invalid patch format of retainKeys"],
    [
      { hostname: "a" },
      { $retainKeys: [], nodeName: "x" },
      400,
      "invalid patch format of retainKeys",
    ],
    [{}, { $setElementOrder: [] }, 400, "invalid patch format of setElementOrder list"],
    [
      {},
      { "$setElementOrder/containers": "x" },
      500,
      "expected a []interface {}, but received a string",
    ],
    [
      {},
      { "$setElementOrder/zz": [] },
      500,
      'unable to find api field in struct PodSpec for the json field "zz"',
    ],
    [{}, { "$setElementOrder/hostname": [] }, 500, "expected slice or array type, but got: struct"],
    [
      { imagePullSecrets: [{ name: "a" }] },
      { "$setElementOrder/imagePullSecrets": [{ name: "b" }], imagePullSecrets: [{ name: "c" }] },
      500,
      "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
    ],
    [{}, { "$deleteFromPrimitiveListX/y": [] }, 400, "invalid patch format of primitive list"],
    [
      { overhead: { a: { b: 1 } } },
      { overhead: { a: { b: 1 } } },
      500,
      "merging an object in json but data type is not struct, instead is: map",
    ],
  ];
  for (const [original, patch, code, message] of rows) {
    test(message, () => {
      const result = applyStrategicMergePatch(original, patch, podSpec);
      assert.deepEqual(result.ok ? "" : [result.status.code, result.status.message], [
        code,
        message,
      ]);
    });
  }
});

describe("any patch", () => {
  const name = fc.constantFrom("a", "b", "c");
  const item = fc.record(
    {
      name,
      image: fc.constantFrom("x", "y", null),
      $patch: fc.constantFrom("delete", "replace", "merge"),
      ports: fc.array(
        fc.record({ containerPort: fc.nat(3), protocol: fc.constantFrom("TCP", "UDP") }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  );
  const spec = fc.record(
    {
      containers: fc.array(item, { maxLength: 4 }),
      "$setElementOrder/containers": fc.array(fc.record({ name }), { maxLength: 4 }),
      nodeSelector: fc.dictionary(name, fc.option(name)),
      $retainKeys: fc.array(fc.constantFrom("containers", "nodeSelector"), { maxLength: 2 }),
      tolerations: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }),
      volumes: fc.jsonValue({ maxDepth: 3 }),
    },
    { requiredKeys: [] },
  );
  test("ends in an object or a status, and changes nothing that it was given", () => {
    fc.assert(
      fc.property(spec, spec, (original, patch) => {
        const given = JSON.stringify([original, patch]);
        const result = applyStrategicMergePatch(original, patch, podSpec);
        assert.ok(result.ok || result.status.code! >= 400);
        assert.equal(JSON.stringify([original, patch]), given);
      }),
      { seed: 1, numRuns: 1500 },
    );
  });
  test("of plain lists: applied twice is applied once, no item is lost", () => {
    const plain = fc.uniqueArray(
      fc.record({ name: fc.constantFrom(..."abcdefgh"), image: name }, { noNullPrototype: true }),
      {
        selector: (c) => c.name,
      },
    );
    fc.assert(
      fc.property(plain, plain, (before, changes) => {
        const [original, patch] = [{ containers: before }, { containers: changes }];
        const once = applyStrategicMergePatch(original, patch, podSpec);
        assert.ok(once.ok);
        const twice = applyStrategicMergePatch(once.value, patch, podSpec);
        assert.deepEqual(twice, once);
        const names = (once.value.containers as { name: string }[]).map((c) => c.name);
        const wanted = new Set([...before, ...changes].map((c) => c.name));
        assert.deepEqual(names.toSorted(), [...wanted].sort());
        const patched = names.filter((n) => changes.some((c) => c.name === n));
        assert.deepEqual(
          patched,
          changes.map((c) => c.name),
        );
      }),
      { seed: 2 },
    );
  });
});
