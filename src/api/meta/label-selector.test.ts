import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import {
  EVERYTHING,
  formatSelector,
  type Labels,
  matchesLabels,
  parseSelector,
  type Selector,
  selectorFromLabels,
  selectorOf,
} from "./label-selector.ts";

function parsed(text: string): Selector {
  const result = parseSelector(text);
  assert.ok(result.ok, result.ok ? "" : result.error);
  return result.value;
}

describe("label selector: canonical text", () => {
  const rows: readonly (readonly [text: string, canonical: string])[] = [
    ["", ""],
    ["  ", ""],
    ["a=b", "a=b"],
    [" a == b , c != d ", "a==b,c!=d"],
    ["b,a", "a,b"],
    ["!a", "!a"],
    ["! a", "!a"],
    ["a in (c, b,b)", "a in (b,c)"],
    ["a notin (b)", "a notin (b)"],
    ["a in ()", "a in ()"],
    ["a in (,)", "a in ()"],
    ["a in (b,)", "a in (,b)"],
    ["a in (,b)", "a in (,b)"],
    ["a in (b,,c)", "a in (,b,c)"],
    ["a=", "a="],
    ["a=,b", "a=,b"],
    ["a>1,b<2", "a>1,b<2"],
    ["in in (in,notin)", "in in (in,notin)"],
    ["x/y=z", "x/y=z"],
    ["a=b,a!=c", "a=b,a!=c"],
  ];
  for (const [text, canonical] of rows) {
    test(JSON.stringify(text), () => assert.equal(formatSelector(parsed(text)), canonical));
  }
});

describe("label selector: refused texts", () => {
  const key =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const value =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  const rows: readonly (readonly [text: string, error: string])[] = [
    ["=b", "found '=', expected: !, identifier, or 'end of string'"],
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    ["a=b=c", "found '=', expected: ',' or 'end of string'"],
    ["a=b c", "found 'c', expected: ',' or 'end of string'"],
    ["a,", "found '', expected: identifier after ','"],
    ["a,=", "found '=', expected: identifier after ','"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["!!a", "unable to parse requirement: found '!', expected: identifier"],
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a in", "unable to parse requirement: found '' expected: '('"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ["a in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ["a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"],
    ["a==(", "unable to parse requirement: found '(', expected: identifier"],
    [
      "a>x",
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
    ["a~=b", `unable to parse requirement: <nil>: Invalid value: "a~": ${key}`],
    ['a="b"', `unable to parse requirement: values[0][a]: Invalid value: "\\"b\\"": ${value}`],
    ["a in (b,.c)", `unable to parse requirement: values[0][a]: Invalid value: ".c": ${value}`],
  ];
  for (const [text, error] of rows) {
    test(JSON.stringify(text), () => assert.deepEqual(parseSelector(text), { ok: false, error }));
  }
});

describe("label selector: matching", () => {
  const labels: Labels = { app: "web", tier: "1", empty: "" };
  const rows: readonly (readonly [text: string, matches: boolean])[] = [
    ["", true],
    ["app=web", true],
    ["app=db", false],
    ["app!=db,other!=x", true],
    ["app in (web,db)", true],
    ["other notin (x)", true],
    ["app notin (web)", false],
    ["app,!other", true],
    ["!app", false],
    ["empty=", true],
    ["tier>0,tier<2", true],
    ["tier>1", false],
    ["app>1", false],
    ["constructor", false],
    ["toString!=x", true],
  ];
  for (const [text, matches] of rows) {
    test(`${JSON.stringify(text)}: ${matches}`, () => {
      assert.equal(matchesLabels(parsed(text), labels), matches);
    });
  }
  test("an object without labels matches only what asks for no label", () => {
    assert.equal(matchesLabels(EVERYTHING, undefined), true);
    assert.equal(matchesLabels("nothing", undefined), false);
    assert.equal(matchesLabels(parsed("!a"), undefined), true);
  });
});

describe("LabelSelector", () => {
  const rows: readonly (readonly [
    selector: LabelSelector | undefined,
    text: string | undefined,
  ])[] = [
    [undefined, undefined],
    [{}, ""],
    [{ matchLabels: { b: "1", a: "2" } }, "a=2,b=1"],
    [
      {
        matchLabels: { c: "1" },
        matchExpressions: [
          { key: "d", operator: "In", values: ["y", "x"] },
          { key: "b", operator: "NotIn", values: ["z"] },
          { key: "a", operator: "Exists" },
          { key: "e", operator: "DoesNotExist" },
        ],
      },
      "a,b notin (z),c=1,d in (x,y),!e",
    ],
  ];
  for (const [selector, text] of rows) {
    test(JSON.stringify(selector) ?? "absent", () => {
      const result = selectorOf(selector);
      assert.ok(result.ok);
      if (text === undefined) assert.equal(result.value, "nothing");
      else assert.equal(formatSelector(result.value), text);
    });
  }
  const faults: readonly (readonly [selector: LabelSelector, error: string])[] = [
    [
      { matchExpressions: [{ key: "a", operator: "Like", values: ["x"] }] },
      '"Like" is not a valid label selector operator',
    ],
    [
      { matchExpressions: [{ key: "a", operator: "In" }] },
      "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ],
    [
      { matchExpressions: [{ key: "a", operator: "Exists", values: ["x"] }] },
      'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
    ],
  ];
  for (const [selector, error] of faults) {
    test(error, () => assert.deepEqual(selectorOf(selector), { ok: false, error }));
  }
  test("selectorFromLabels requires every label, in order", () => {
    assert.equal(formatSelector(selectorFromLabels({ b: "1", a: "2" })), "a=2,b=1");
  });
});

describe("label selector: properties", () => {
  const word = fc.stringMatching(/^[a-z]([a-z0-9._-]{0,8}[a-z0-9])?$/);
  const term = fc.oneof(
    word,
    word.map((k) => `!${k}`),
    fc.tuple(word, fc.constantFrom("=", "==", "!="), word).map((t) => t.join("")),
    fc
      .tuple(word, fc.constantFrom("in", "notin"), fc.array(word, { minLength: 1, maxLength: 4 }))
      .map(([k, op, values]) => `${k} ${op} (${values.join(",")})`),
    fc.tuple(word, fc.constantFrom(">", "<"), fc.nat()).map((t) => t.join("")),
  );
  test("the canonical text selects the same", () => {
    const labels = fc.dictionary(word, word);
    fc.assert(
      fc.property(fc.array(term, { maxLength: 5 }), labels, (terms, set) => {
        const selector = parsed(terms.join(","));
        const again = parsed(formatSelector(selector));
        assert.equal(formatSelector(again), formatSelector(selector));
        assert.equal(matchesLabels(again, set), matchesLabels(selector, set));
      }),
      { seed: 1 },
    );
  });
  test("labels match their own selector", () => {
    fc.assert(
      fc.property(fc.dictionary(word, word), (set) => {
        assert.ok(matchesLabels(selectorFromLabels(set), set));
      }),
      { seed: 2 },
    );
  });
  test("any text ends in a selector or an error", () => {
    const unit = fc.constantFrom(...'ab1 =!(),<>/.-"\\\t\u00e9', "in", "notin");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        const result = parseSelector(text);
        if (result.ok) assert.ok(parseSelector(formatSelector(result.value)).ok);
        else assert.notEqual(result.error, "");
      }),
      { seed: 3, numRuns: 3000 },
    );
  });
});
