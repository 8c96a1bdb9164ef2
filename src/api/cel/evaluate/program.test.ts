import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { check } from "../checker.ts";
import { compile, createEnvironment, extendEnvironment } from "../environment.ts";
import { listsLibrary } from "../libraries/lists.ts";
import { setsLibrary } from "../libraries/sets.ts";
import { standardLibrary } from "../libraries/standard.ts";
import { parse } from "../syntax/parser.ts";
import { type ConformanceCase, conformanceCases } from "../testing/conformance.ts";
import { DYN, showType } from "../types/type.ts";
import { isEqual } from "../values/compare.ts";
import type { Value } from "../values/value.ts";
import { createProgram, type Evaluation } from "./program.ts";

describe("CEL: the language's conformance cases", () => {
  for (const conformance of conformanceCases()) {
    test(`${conformance.path}: ${conformance.expr.slice(0, 60)}`, () => {
      const { value } = conformance;
      const result = runCase(conformance);
      if (result === "checked") return;
      assert.equal(result.ok, value !== undefined, JSON.stringify(result, showBigInt));
      if (!result.ok || value === undefined) return;
      const bothNaN = Number.isNaN(result.value) && Number.isNaN(value);
      assert.ok(bothNaN || isEqual(result.value, value), JSON.stringify(result, showBigInt));
    });
  }
});

function runCase(conformance: ConformanceCase): Evaluation | "checked" {
  const { declarations } = conformance.environment;
  const parsed = parse(conformance.expr, { ...declarations, escapedIdentifiers: true });
  const failed = () => {
    const error = parsed.faults.describe(parsed.source);
    return { ok: false, error, costExceeded: false, cost: 0 } as const;
  };
  if (parsed.faults.count > 0) return failed();
  let checked = { types: new Map(), references: new Map() } as ReturnType<typeof check>;
  if (conformance.isChecked) {
    checked = check(parsed.expr, parsed.source, declarations, parsed.faults);
    if (parsed.faults.count > 0) return failed();
    const type = showType(checked.types.get(parsed.expr.id)!);
    if (conformance.type !== undefined) assert.equal(type, conformance.type);
  }
  if (conformance.onlyChecked) return "checked";
  const program = createProgram(conformance.environment, { expr: parsed.expr, checked });
  return program.evaluate({ find: (name) => conformance.bindings.get(name) });
}

function showBigInt(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

const ENVIRONMENT = extendEnvironment(
  createEnvironment({ libraries: [standardLibrary, listsLibrary, setsLibrary] }),
  { x: DYN },
);

function run(text: string, x: Value = null, costMax = Infinity): Evaluation {
  const compiled = compile(ENVIRONMENT, text);
  if (!compiled.ok) throw new Error(compiled.error);
  return createProgram(ENVIRONMENT, compiled.value, { costMax }).evaluate({ find: () => x });
}

describe("CEL: costs", () => {
  const cases: { text: string; cost: number }[] = [
    { text: "1 + 2 == 3", cost: 2 },
    { text: "x == x", cost: 3 },
    { text: "[1, 2].all(e, e > 0)", cost: 19 },
    { text: "'abc'.contains('b')", cost: 1 },
    { text: "'a'.matches('a+')", cost: 1 },
    { text: "{'a': 1}.a == 1", cost: 32 },
    { text: "lists.range(100).size() == 100", cost: 113 },
  ];
  for (const { text, cost } of cases) {
    test(text, () => assert.equal(run(text).cost, cost));
  }

  test("too much ends it, whatever the other side says", () => {
    const text = "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0)) || true";
    const result = run(text, null, 10_000);
    assert.deepEqual(
      {
        ok: result.ok,
        error: !result.ok && result.error,
        exceeded: !result.ok && result.costExceeded,
      },
      { ok: false, error: "operation cancelled: actual cost limit exceeded", exceeded: true },
    );
  });
});

test("CEL: patterns take linear time", () => {
  const result = run(`'${"a".repeat(5000)}!'.matches('^(a+)+$')`);
  assert.deepEqual(result.ok && result.value, false);
});

test("CEL: no expression that compiles throws when it is evaluated", () => {
  const atoms = "x 1 2u 2.5 'a' b'a' true null [] [1,'b'] {'a':1} x.a duration('1s') type(x)".split(
    " ",
  );
  const { expr } = fc.letrec<{ expr: string }>((tie) => ({
    expr: fc.oneof(
      { depthSize: "small", withCrossShrink: false },
      fc.constantFrom(...atoms),
      fc
        .tuple(
          tie("expr"),
          fc.constantFrom(..."+ - * / % == != < >= in && ||".split(" ")),
          tie("expr"),
        )
        .map((parts) => parts.join(" ")),
      fc
        .tuple(tie("expr"), fc.constantFrom("size()", "all(e, e == x)", "map(e, e + e)", "sort()"))
        .map(([target, call]) => `(${target}).${call}`),
      fc
        .tuple(fc.constantFrom("int", "string", "double", "bool", "dyn"), tie("expr"))
        .map(([name, arg]) => `${name}(${arg})`),
      fc.tuple(tie("expr"), tie("expr")).map(([a, b]) => `[${a}, ${b}][0]`),
    ),
  }));
  fc.assert(
    fc.property(expr, fc.constantFrom<Value>(null, 1n, "a", 2.5, true), (text, x) => {
      const compiled = compile(ENVIRONMENT, text);
      if (!compiled.ok) return;
      createProgram(ENVIRONMENT, compiled.value).evaluate({ find: () => x });
    }),
    { seed: 3, numRuns: 1000 },
  );
});
