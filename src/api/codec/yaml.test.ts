import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { schemaOf } from "#api/schema/from-facts.ts";
import { decodeYaml, encodeYaml, yamlToJson } from "./yaml.ts";

function json(text: string): string {
  const converted = yamlToJson(text);
  assert.ok(converted.ok, `${text}: ${converted.ok || converted.error}`);
  return converted.json;
}

describe("scalars are read as by kubectl", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["yes", "true"],
    ["On", "true"],
    ["y", "true"],
    ["N", "false"],
    ["off", "false"],
    ["~", "null"],
    ["", "null"],
    ["Null", "null"],
    ["nULL", `"nULL"`],
    ["0777", "511"],
    ["0o17", "15"],
    ["0b11", "3"],
    ["-0x1F", "-31"],
    ["1_000", "1000"],
    ["+5", "5"],
    ["08", "8"],
    ["1e3", `"1e3"`],
    ["1.5e+3", "1500"],
    ["1.50", "1.5"],
    [".5", "0.5"],
    ["1.", `"1."`],
    ["2020-01-02", `"2020-01-02"`],
    ["22:30", `"22:30"`],
    ["9007199254740993", "9007199254740993"],
    ["18446744073709551615", "18446744073709551615"],
    ["'yes'", `"yes"`],
    ["!!str 5", `"5"`],
    ["! 5", `"5"`],
    ["!!float 5", "5"],
    ["!custom 5", `"5"`],
    ["!!int 5", "5"],
  ];
  for (const [yaml, want] of rows) {
    test(yaml === "" ? "nothing" : yaml, () => assert.equal(json(`a: ${yaml}`), `{"a":${want}}`));
  }
});

describe("YAML codec: documents", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    [
      "keys become texts",
      "yes: 1\n2: 3\n1.5: x\nnull key: z",
      `{"2":3,"1.5":"x","null key":"z","true":1}`,
    ],
    [
      "a merge key (<<) adds the fields of its alias",
      "base: &b {x: 1, z: 2}\nd:\n  <<: *b\n  z: 3",
      `{"base":{"x":1,"z":2},"d":{"x":1,"z":3}}`,
    ],
    [
      "the first of several merged maps wins",
      "a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: [*a, *b]}",
      `{"a":{"x":1},"b":{"x":2},"c":{"x":1}}`,
    ],
    ["only the first document", "a: 1\n---\nb: 2\n", `{"a":1}`],
    ["a document of comments only is null", "# comment\n", "null"],
    [
      "literal (|) and folded (>-) block scalars are read",
      "a: |\n  x\n  y\nb: >-\n  x\n  y\n",
      `{"a":"x\\ny\\n","b":"x y"}`,
    ],
    ["__proto__ is a key", "__proto__: {x: 1}", `{"__proto__":{"x":1}}`],
    ["JSON is YAML", `{"a": [1, "b", null, {"c": true}]}`, `{"a":[1,"b",null,{"c":true}]}`],
    ["a quoted << is an ordinary key", `"<<": 1`, `{"<<":1}`],
  ];
  for (const [name, yaml, want] of rows) test(name, () => assert.equal(json(yaml), want));

  test("a key that stands there twice is reported with its line", () => {
    assert.deepEqual(yamlToJson("a: 1\nb:\n  k: 1\n  k: 2\n"), {
      ok: true,
      json: `{"a":1,"b":{"k":2}}`,
      strictErrors: [`yaml: unmarshal errors:\n  line 4: key "k" already set in map`],
    });
  });

  test("objects are decoded like JSON, faults included", () => {
    const schema = schemaOf("core.v1.ConfigMap");
    const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: yes}\n";
    const error = "json: cannot unmarshal bool into Go struct field ConfigMap.data of type string";
    assert.deepEqual(decodeYaml(schema, yaml), { ok: false, error });
    const decoded = decodeYaml(schema, "zz: 1\nmetadata:\n  foo: 1\n  name: a\n  name: b\n");
    assert.ok(decoded.ok);
    assert.deepEqual(decoded.strictErrors, [
      `yaml: unmarshal errors:\n  line 5: key "name" already set in map`,
      'unknown field "metadata.foo"',
      'unknown field "zz"',
    ]);
  });
});

describe("YAML codec: lines of quoted scalars and flow collections may begin at any column", () => {
  const rows: readonly (readonly [string, string])[] = [
    ['a: "one\ntwo\nthree"\nb: 1\n', `{"a":"one two three","b":1}`],
    ['a:\n  b:\n    c: "one\n two \\\n  three"\n  d: 1', `{"a":{"b":{"c":"one two three"},"d":1}}`],
    ["a: 'one\n\ntwo: it''s'\nb: 1", `{"a":"one\\ntwo: it's","b":1}`],
    ['a: "x\ny"\nb: "x\ny"\nc: z', `{"a":"x y","b":"x y","c":"z"}`],
    ["a: {\nb: [\n1,\n2\n],\nc: 3\n}\nd: 4", `{"a":{"b":[1,2],"c":3},"d":4}`],
    ['- "one\ntwo"\n- - "x\ny"', `["one two",["x y"]]`],
  ];
  for (const [text, want] of rows) {
    test(`${JSON.stringify(text)} is read`, () => assert.equal(json(text), want));
  }

  test("a document marker inside a quoted scalar is refused", () => {
    assert.ok(!yamlToJson('a: "one\ntwo\n---\nthree"').ok);
  });

  test("lines that must be read again are bounded: too many of them, or too much indentation, are refused", () => {
    const many = Array.from({ length: 20_000 }, (_, n) => `k${n}: "a\nb"\n`).join("");
    assert.ok(!yamlToJson(many).ok);
    const deep = `a:\n${" ".repeat(100_000)}b: "x\n${"y\n".repeat(10_000)}"`;
    assert.ok(!yamlToJson(deep).ok);
  });
});

describe("bad YAML", () => {
  const tenDeep = (inner: string) => "[".repeat(10) + inner + "]".repeat(10);
  const deepAliases = Array.from(
    { length: 102 },
    (_, i) => `a${i}: &a${i} ${tenDeep(i === 0 ? "1" : `*a${i - 1}`)}`,
  );
  const laughs = Array.from({ length: 12 }, (_, i) =>
    i === 0
      ? "a0: &a0 [x, x, x, x, x, x, x, x, x]"
      : `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(", ")}]`,
  );
  const longText = `a: &a ${"x".repeat(100_000)}\nb: [${Array(200).fill("*a").join(", ")}]`;
  const rows: readonly (readonly [string, string, string])[] = [
    ["a mapping in a value", "a: b: c", "yaml: mapping values are not allowed in this context"],
    [
      "the same further down",
      "x: 1\na: b: c",
      "yaml: line 2: mapping values are not allowed in this context",
    ],
    ["a tab at the start", "\tx", "yaml: found character that cannot start any token"],
    [
      "a tab for indentation",
      "a:\n\t- b",
      "yaml: line 2: found character that cannot start any token",
    ],
    ["a reserved character", "a: @x", "yaml: found character that cannot start any token"],
    ["an open list", "a: [1, 2", "yaml: did not find expected ',' or ']'"],
    ["an open map", "a: {b: c", "yaml: did not find expected ',' or '}'"],
    ["an open quote", "a: 'x", "yaml: found unexpected end of stream"],
    ["an unknown escape", `a: "\\q"`, "yaml: found unknown escape character"],
    [
      "wrong indentation is refused",
      "a:\n  b: 1\n c: 2",
      "yaml: line 2: did not find expected key",
    ],
    ["a control character", "a: \u0007", "yaml: control characters are not allowed"],
    ["an unknown alias", "a: *b", "yaml: unknown anchor 'b' referenced"],
    ["an alias inside its anchor", "a: &a [*a]", "yaml: anchor 'a' value contains itself"],
    [
      "a merge with a text",
      "<<: x",
      "yaml: map merge requires map or sequence of maps as the value",
    ],
    ["a list as a key", "? [a]\n: b", "yaml: invalid map key"],
    ["infinity has no JSON form and is refused", "a: .inf", "json: unsupported value: +Inf"],
    ["a wrong tag", "a: !!int x", "yaml: cannot decode !!str `x` as a !!int"],
    ["a billion laughs", laughs.join("\n"), "yaml: document contains excessive aliasing"],
    ["a long text many times", longText, "yaml: document contains excessive aliasing"],
    ["depth by nesting", "[".repeat(2000), "yaml: exceeded max depth of 10000"],
    ["depth by aliases", deepAliases.join("\n"), "yaml: exceeded max depth of 10000"],
  ];
  for (const [name, yaml, error] of rows) {
    test(name, () => assert.deepEqual(yamlToJson(yaml), { ok: false, error }));
  }
});

test("a YAML text may nest 900 deep", () => {
  const nested = yamlToJson(`a: ${"[".repeat(900)}${"]".repeat(900)}`);
  assert.deepEqual(nested, {
    ok: true,
    json: `{"a":${"[".repeat(900)}${"]".repeat(900)}}`,
    strictErrors: [],
  });
});

describe("YAML codec: writing", () => {
  const rows: readonly (readonly [string, unknown, string])[] = [
    [
      "lists are not indented",
      { b: { c: ["x", { d: 1, e: [[1], []] }] }, a: {} },
      "a: {}\nb:\n  c:\n  - x\n  - d: 1\n    e:\n    - - 1\n    - []\n",
    ],
    [
      "texts that look like something else",
      ["no", "1", "1.5", "", "null", "2020-01-02", "22:30", "0x1", "1e3"],
      `- "no"\n- "1"\n- "1.5"\n- ""\n- "null"\n- "2020-01-02"\n- "22:30"\n- "0x1"\n- 1e3\n`,
    ],
    [
      "texts with signs of YAML",
      ["a: b", "a:b", "#x", "x #y", "- x", "-x", "[x", "x ", "'x", "*", "x,y", "---"],
      `- 'a: b'\n- a:b\n- '#x'\n- 'x #y'\n- '- x'\n- -x\n- '[x'\n- 'x '\n- '''x'\n- '*'\n- x,y\n- '---'\n`,
    ],
    [
      "a text of several lines becomes a block scalar",
      { a: "x\ny\n", b: "x\n\ny", c: " x\ny", d: "x \ny", e: "x\n\n" },
      'a: |\n  x\n  y\nb: |-\n  x\n\n  y\nc: |2-\n   x\n  y\nd: "x \\ny"\ne: |+\n  x\n\n',
    ],
    [
      "control characters are escaped, other Unicode is not",
      ["a\tb", "\u0001", "é☃🎈"],
      `- "a\\tb"\n- "\\x01"\n- é☃🎈\n`,
    ],
    [
      "numbers are written as Go writes them",
      [1, -1.5, 1e21, 1.5e-7, 9_007_199_254_740_993n, true, null],
      "- 1\n- -1.5\n- 1e+21\n- 1.5e-07\n- 9007199254740993\n- true\n- null\n",
    ],
    [
      "keys in natural order",
      { a10: 1, a2: 2, B: 3, b: 4, "1": 5, _: 6, "a-b": 7 },
      `_: 6\n"1": 5\nB: 3\na-b: 7\na2: 2\na10: 1\nb: 4\n`,
    ],
    [
      "a long text",
      { description: "lorem ipsum dolor sit amet ".repeat(5).trim() },
      "description: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem ipsum dolor\n  sit amet lorem ipsum dolor sit amet lorem ipsum dolor sit amet\n",
    ],
    ["a text alone", "x", "x\n"],
  ];
  for (const [name, value, want] of rows) {
    test(name, () => {
      assert.equal(encodeYaml(value), want);
      assert.equal(
        json(want),
        json(JSON.stringify(value, (_, v) => (typeof v === "bigint" ? Number(v) : v))).replace(
          "9007199254740992",
          "9007199254740993",
        ),
      );
    });
  }
});
