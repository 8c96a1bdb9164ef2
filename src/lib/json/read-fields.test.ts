import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { seededRandom } from "../random.ts";
import type { FieldTree } from "./field-tree.ts";
import { createFieldReader } from "./read-fields.ts";

const read = (text: string, tree: FieldTree): unknown => createFieldReader(tree)(Buffer.from(text));

describe("JSON fields", () => {
  const rows: readonly {
    readonly name: string;
    readonly text: string;
    readonly tree: FieldTree;
    readonly want: unknown;
  }[] = [
    {
      name: "of nested objects and of each element of an array are read, others are skipped",
      text: '{"kind":"PodList","metadata":{"continue":"x"},"items":[{"spec":{"a":[1,{"b":"}"}]},"n":1},{"n":2,"m":3}]}',
      tree: { metadata: { continue: true }, items: { n: true } },
      want: { metadata: { continue: "x" }, items: [{ n: 1 }, { n: 2 }] },
    },
    {
      name: "behind strings with escaped quotes, backslashes and brackets are found",
      text: String.raw`{"f":{"k:{\"type\":\"Ready\"}":{},"v":"\\"},"n":"a\"\\\u00e9\n"}`,
      tree: { n: true },
      want: { n: 'a"\\é\n' },
    },
    {
      name: "are found in text with white space",
      text: ' {\n "a" : [ 1 , {"b" : null} ] ,\t"c" : true } \n',
      tree: { a: { b: true }, c: true },
      want: { a: [1, { b: null }], c: true },
    },
    {
      name: "that are absent are left out, and empty values stay",
      text: '{"a":{},"b":[],"d":-1.5e3}',
      tree: { a: { x: true }, b: { x: true }, c: true, d: { x: true } },
      want: { a: {}, b: [], d: -1500 },
    },
    {
      name: "written twice have the last value",
      text: '{"a":1,"a":2}',
      tree: { a: true },
      want: { a: 2 },
    },
    {
      name: "in several bytes a character are read",
      text: '{"日":"本"}',
      tree: { 日: true },
      want: { 日: "本" },
    },
  ];
  for (const { name, text, tree, want } of rows) {
    test(name, () => assert.deepEqual(read(text, tree), want));
  }

  test("of random values equal those that JSON.parse gives", () => {
    const random = seededRandom(5);
    const value = (depth: number): unknown => {
      const kind = random.integer(depth > 3 ? 4 : 6);
      if (kind === 0) return random.integer(1_000_000) - 500_000;
      if (kind === 1)
        return String.fromCharCode(...Array.from({ length: 8 }, () => random.integer(130)));
      if (kind === 2) return [true, false, null, 1.25][random.integer(4)];
      if (kind === 3) return 'k:{"a":"\\"}'.slice(random.integer(8));
      const some = Array.from({ length: random.integer(5) }, () => value(depth + 1));
      return kind === 4 ? some : Object.fromEntries(some.map((one, i) => ["abcdefg"[i], one]));
    };
    const tree = { a: true, b: { a: true, c: { b: true } }, d: { e: true } } as const;
    const picked = (from: unknown, by: FieldTree): unknown => {
      if (by === true || typeof from !== "object" || from === null) return from;
      if (Array.isArray(from)) return from.map((one) => picked(one, by));
      const known = Object.entries(from).filter(([name]) => Object.hasOwn(by, name));
      return Object.fromEntries(known.map(([name, one]) => [name, picked(one, by[name]!)]));
    };
    for (let round = 0; round < 500; round++) {
      const whole = { x: value(0), a: value(0), b: value(0), c: value(0), d: value(0) };
      const text = JSON.stringify(whole, null, random.integer(2));
      assert.deepEqual(read(text, tree), picked(whole, tree), text);
    }
  });

  for (const text of ["", "{", '{"a', '{"a":', '{"a":1', '{"b":{"c":[1', '{"b":"x', '{"a":}']) {
    test(`of JSON text that ends early (${text}) throw a SyntaxError`, () => {
      assert.throws(() => read(text, { a: true }), SyntaxError);
    });
  }
});
