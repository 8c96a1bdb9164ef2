import assert from "node:assert/strict";
import { tests as parsing } from "@bufbuild/cel-spec/testdata/parsing.js";
import fc from "fast-check";
import { describe, test } from "vitest";
import { debugString } from "../testing/debug-string.ts";
import { OPTIONAL_MACROS, STANDARD_MACROS, TWO_VARIABLE_MACROS } from "./macros.ts";
import { type Parsed, parse } from "./parser.ts";
import type { ParserOptions } from "./tree-reader.ts";

const MACROS = [...STANDARD_MACROS, ...OPTIONAL_MACROS, ...TWO_VARIABLE_MACROS];
const OPTIONS: ParserOptions = { macros: MACROS, optionalSyntax: true };

describe("CEL: parser test cases of cel-go", () => {
  // Its tests lower the limits, and run some expressions with a part of the syntax turned off.
  const limits = { depthMax: 32, recoveriesMax: 4, skippedMax: 4 };
  const existsOne = STANDARD_MACROS.find(({ name }) => name === "exists_one")!;
  const macros = [...STANDARD_MACROS, { ...existsOne, name: "existsOne" }];
  const variants: ParserOptions[] = [true, false].flatMap((optionalSyntax) =>
    [true, false].map((escapedIdentifiers) => {
      return { macros, optionalSyntax, escapedIdentifiers, limits };
    }),
  );
  for (const [i, { original, ast, error }] of parsing.tests!.entries()) {
    test(`${i}: ${original.expr.slice(0, 60)}`, () => {
      const results = variants.map((options) => describeResult(parse(original.expr, options)));
      const wanted = (ast ?? error!).replaceAll("ERROR: :", "ERROR: <input>:");
      assert.ok(results.includes(wanted), `wanted ${wanted}\ngot ${results[0]}`);
    });
  }
});

describe("CEL: syntax errors in the words of the real server", () => {
  const starts =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
  const cases = [
    {
      text: "object.",
      error:
        "ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'\n | object.\n | .......^",
    },
    {
      text: "[",
      error:
        "ERROR: <input>:1:2: Syntax error: mismatched input '<EOF>' expecting {'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | [\n | .^",
    },
    {
      text: "a =",
      error: "ERROR: <input>:1:3: Syntax error: token recognition error at: '='\n | a =\n | ..^",
    },
    {
      text: "",
      error: `ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting ${starts}`,
    },
  ];
  for (const { text, error } of cases) {
    test(JSON.stringify(text), () => assert.equal(describeResult(parse(text, OPTIONS)), error));
  }
});

describe("CEL: limits", () => {
  const cases = [
    {
      name: "300 nested brackets exceed the recursion limit of 250",
      text: "[".repeat(300) + "]".repeat(300),
      error: /recursion limit exceeded: 250/,
    },
    {
      name: "a sum of 300 terms exceeds the recursion depth",
      text: `1${"+1".repeat(300)}`,
      error: /max recursion depth exceeded/,
    },
    {
      name: "a chain of 300 fields exceeds the recursion depth",
      text: `a${".b".repeat(300)}`,
      error: /max recursion depth exceeded/,
    },
    {
      name: "an expression of more than 100,000 characters is refused",
      text: " ".repeat(100_001),
      error: /size exceeds limit: size: 100001, limit 100000/,
    },
    {
      name: "errors of 90,000 unknown characters are truncated",
      text: "$".repeat(90_000),
      error: /1 more errors were truncated$/,
    },
    {
      name: "nested macros may not expand to more than 500,000 nodes",
      text: `a${".optMap(x, x)".repeat(40)}`,
      error: /macros expand to more than 500000 nodes/,
    },
    {
      name: "240 nested parentheses are parsed",
      text: `${"(".repeat(240)}1${")".repeat(240)}`,
      error: undefined,
    },
    { name: "3,000 operands of && are parsed", text: `a${" && a".repeat(3000)}`, error: undefined },
  ];
  for (const { name, text, error } of cases) {
    test(name, () => {
      const result = describeResult(parse(text, OPTIONS));
      if (error === undefined) assert.ok(!result.startsWith("ERROR"));
      else assert.match(result, error);
    });
  }
});

test("CEL: no text crashes or hangs the parser", () => {
  const fragments = fc.constantFrom(
    ..."a b.c ( ) [ ] { } , : ? . - ! + * && || == < in has all x 1 1u 2.5 'a' \"b ''' r\"\"\" b'\\x41' ` \\ // = | & \n 😀 map(x, y) .?a [?0] {?a:1} T{f:1}".split(
      " ",
    ),
  );
  const soup = fc.array(fragments, { maxLength: 60 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(soup, fc.string({ maxLength: 80 })), (text) => {
      const parsed = parse(text, OPTIONS);
      assert.equal(typeof parsed.faults.describe(parsed.source), "string");
    }),
    { seed: 7, numRuns: 500 },
  );
});

function describeResult({ source, expr, faults }: Parsed): string {
  return faults.count > 0 ? faults.describe(source) : debugString(expr);
}
