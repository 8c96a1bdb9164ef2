import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import {
  decodeFieldSet,
  difference,
  differenceBelow,
  EMPTY_SET,
  type FieldSet,
  fieldSet,
  hasPath,
  intersection,
  LEAF,
  pathsOf,
  union,
  unionAll,
} from "./field-set.ts";
import { compareElements, formatElement } from "./path-element.ts";

const spec = { "f:spec": { "f:a": {}, "f:b": { ".": {}, "f:c": {} } } };

describe("server-side apply: operations", () => {
  test("union holds the paths of both sets", () => {
    assert.equal(union(spec, { "f:spec": { "f:a": {} } }), spec);
    assert.deepEqual(union(spec, { "f:spec": {} }), { "f:spec": { ".": {}, ...spec["f:spec"] } });
    assert.deepEqual(union({ "f:b": {} }, { "f:a": {}, "f:c": {} }), {
      "f:a": {},
      "f:b": {},
      "f:c": {},
    });
    assert.equal(union(EMPTY_SET, spec), spec);
  });
  test("difference takes members one by one", () => {
    assert.deepEqual(difference(spec, { "f:spec": { "f:b": {} } }), {
      "f:spec": { "f:a": {}, "f:b": { "f:c": {} } },
    });
    assert.deepEqual(difference(spec, { "f:spec": { "f:b": { "f:c": {} } } }), {
      "f:spec": { "f:a": {}, "f:b": {} },
    });
    assert.equal(difference(spec, { "f:spec": {} }), spec);
    assert.deepEqual(difference(spec, spec), {});
  });
  test("difference below takes whole branches", () => {
    assert.deepEqual(differenceBelow(spec, { "f:spec": { "f:b": {} } }), {
      "f:spec": { "f:a": {} },
    });
    assert.deepEqual(differenceBelow(spec, { "f:spec": {} }), {});
    assert.equal(differenceBelow(spec, { "f:status": {} }), spec);
  });
  test("intersection holds the paths that both sets have", () => {
    assert.deepEqual(intersection(spec, { "f:spec": { "f:b": {} }, "f:x": {} }), {
      "f:spec": { "f:b": {} },
    });
    assert.deepEqual(intersection(spec, { "f:spec": {} }), {});
  });
  test("pathsOf yields every path of a set, parents first", () => {
    assert.deepEqual(
      [...pathsOf(spec)],
      [
        ["f:spec", "f:a"],
        ["f:spec", "f:b"],
        ["f:spec", "f:b", "f:c"],
      ],
    );
    assert.equal(hasPath(spec, ["f:spec"]), false);
    assert.equal(hasPath(spec, ["f:spec", "f:b"]), true);
    assert.equal(hasPath(spec, []), false);
    assert.deepEqual(fieldSet(["a", "b"], ["a"]), { "f:a": { ".": {}, "f:b": {} } });
  });
});

describe("server-side apply: elements", () => {
  test("order: members, keys by value, values, indices", () => {
    const sorted = [
      ".",
      "f:a",
      "f:b",
      'k:{"port":80}',
      'k:{"port":443}',
      'k:{"port":443,"protocol":"TCP"}',
      'k:{"port":"80"}',
      'k:{"q":1}',
      'v:"a"',
      'v:"a!"',
      "v:true",
      "i:9",
      "i:10",
    ];
    assert.deepEqual(sorted.toReversed().sort(compareElements), sorted);
  });
  test("as conflicts name them", () => {
    const path = ["f:spec", 'k:{"name":"a\\"b","port":80}', 'v:"x"', "v:true", "i:3"];
    assert.equal(path.map(formatElement).join(""), '.spec[name="a\\"b",port=80][="x"][=true][3]');
  });
});

describe("server-side apply: decoding", () => {
  test("a set in order stays the same object", () => {
    assert.equal(decodeFieldSet(spec), spec);
    assert.equal(decodeFieldSet(undefined), EMPTY_SET);
  });
  test("spelling, order and unknown steps", () => {
    const odd = {
      "x:y": {},
      'k:{"b": 1, "a":2}': { ".": {} },
      "f:z": {},
      "f:a": { ".": { "f:q": {} }, "f:b": {} },
    };
    const set = decodeFieldSet(odd);
    assert.equal(
      JSON.stringify(set),
      JSON.stringify({ "f:a": { ".": {}, "f:b": {} }, "f:z": {}, 'k:{"a":2,"b":1}': {} }),
    );
  });
  for (const broken of [
    [],
    "x",
    { f: {} },
    { fx: {} },
    { "k:[]": {} },
    { "k:{": {} },
    { "v:x": {} },
    { "i:x": {} },
    { "f:a": 1 },
  ]) {
    test(`${JSON.stringify(broken)} is refused`, () => {
      assert.throws(() => decodeFieldSet(broken));
    });
  }
});

describe("server-side apply: laws", () => {
  const nodeOf = (depth: number): fc.Arbitrary<FieldSet> => {
    if (depth === 0) return fc.constant(LEAF);
    const element = fc.constantFrom("f:a", "f:b", 'k:{"n":1}', 'v:"x"');
    const children = fc.dictionary(element, nodeOf(depth - 1), {
      maxKeys: 3,
      noNullPrototype: true,
    });
    return fc.tuple(fc.boolean(), children).map(([member, node]) => {
      const json = member ? { ".": {}, ...node } : node;
      return decodeFieldSet({ "f:x": json })["f:x"]!;
    });
  };
  const set = nodeOf(3).map((node) => {
    const { ".": _, ...root } = node;
    return root;
  });
  const members = (s: FieldSet) => new Set([...pathsOf(s)].map((path) => path.join("/")));
  const same = (a: Set<string>, b: Set<string>) => assert.deepEqual([...a].sort(), [...b].sort());

  test("sets are sets of paths", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        const [pa, pb] = [members(a), members(b)];
        same(members(union(a, b)), new Set([...pa, ...pb]));
        same(members(difference(a, b)), new Set([...pa].filter((p) => !pb.has(p))));
        same(members(intersection(a, b)), new Set([...pa].filter((p) => pb.has(p))));
        const isBelow = (p: string) => [...pb].some((q) => p === q || p.startsWith(`${q}/`));
        same(members(differenceBelow(a, b)), new Set([...pa].filter((p) => !isBelow(p))));
      }),
      { seed: 1, numRuns: 1000 },
    );
  });
  test("unionAll of FieldsV1 is the union of one set after the other, in the same order", () => {
    fc.assert(
      fc.property(fc.array(set, { maxLength: 6 }), (sets) => {
        const inTurn = sets.reduce(union, EMPTY_SET);
        assert.equal(JSON.stringify(unionAll(sets)), JSON.stringify(inTurn));
      }),
    );
  });

  test("results in order are in normal form: decoding changes nothing", () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        for (const s of [
          union(a, b),
          difference(a, b),
          intersection(a, b),
          differenceBelow(a, b),
        ]) {
          const copy = JSON.parse(JSON.stringify(s));
          assert.equal(JSON.stringify(decodeFieldSet(copy)), JSON.stringify(s));
        }
      }),
      { seed: 2, numRuns: 500 },
    );
  });
});
