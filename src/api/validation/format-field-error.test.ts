import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  duplicate,
  type FieldError,
  forbidden,
  internalError,
  invalid,
  notFound,
  notSupported,
  required,
  tooFew,
  tooLong,
  tooLongCharacters,
  tooMany,
  tooShort,
  typeInvalid,
} from "./field-error.ts";
import { formatFieldError, formatFieldErrors } from "./format-field-error.ts";
import { Path } from "./path.ts";

const at = Path.of("spec", "x");

describe("formatFieldError", () => {
  const rows: readonly (readonly [error: FieldError, text: string])[] = [
    [required(at, ""), "Required value"],
    [
      required(at, "name or generateName is required"),
      "Required value: name or generateName is required",
    ],
    [forbidden(at, "may not be set"), "Forbidden: may not be set"],
    [invalid(at, 'a"b\n', "must be plain"), 'Invalid value: "a\\"b\\n": must be plain'],
    [invalid(at, "", "must not be empty"), 'Invalid value: "": must not be empty'],
    [invalid(at, -1, "must be positive"), "Invalid value: -1: must be positive"],
    [invalid(at, 2n ** 60n, "too large"), "Invalid value: 1152921504606846976: too large"],
    [invalid(at, { A: 2n ** 60n }, "no"), 'Invalid value: {"A":1152921504606846976}: no'],
    [invalid(at, 0.5, "whole"), "Invalid value: 0.5: whole"],
    [invalid(at, true, "no"), "Invalid value: true: no"],
    [invalid(at, undefined, "field is immutable"), "Invalid value: null: field is immutable"],
    [invalid(at, ["<a>", "&"], "no"), 'Invalid value: ["\\u003ca\\u003e","\\u0026"]: no'],
    [invalid(at, { b: "1", a: "2" }, "no"), 'Invalid value: {"a":"2","b":"1"}: no'],
    [invalid(at, { Z: "1", A: "2" }, "no"), 'Invalid value: {"Z":"1","A":"2"}: no'],
    [invalid(at, { Z: "1", A: null }, "no"), 'Invalid value: {"Z":"1","A":null}: no'],
    [typeInvalid(at, 5, "must be a string"), "Invalid value: 5: must be a string"],
    [notSupported(at, "x", ["A", "B"]), 'Unsupported value: "x": supported values: "A", "B"'],
    [notSupported(at, "x", []), 'Unsupported value: "x"'],
    [duplicate(at, "x"), 'Duplicate value: "x"'],
    [notFound(at, "vol"), 'Not found: "vol"'],
    [tooLong(at, 253), "Too long: may not be more than 253 bytes"],
    [tooLong(at, 1), "Too long: may not be more than 1 byte"],
    [tooLong(at, -1), "Too long: value is too long"],
    [tooMany(at, 5, 3), "Too many: 5: must have at most 3 items"],
    [tooMany(at, 2, 1), "Too many: 2: must have at most 1 item"],
    [tooMany(at, -1, 3), "Too many: must have at most 3 items"],
    [tooFew(at, 0, 1), "Too few: 0: must have at least 1 item"],
    [tooShort(at, "", 2), "Too short: must be at least 2 characters"],
    [tooLongCharacters(at, 5), "Too long: may not be more than 5 characters"],
    [internalError(at, "broken"), "Internal error: broken"],
  ];
  for (const [error, text] of rows) {
    test(`is "${text}"`, () => assert.equal(formatFieldError(error), text));
  }
});

test("formatFieldErrors: several errors are listed once each, in order, in brackets", () => {
  const [a, b] = [required(at, ""), duplicate(at.index(1), 2)];
  assert.equal(formatFieldErrors([a]), "spec.x: Required value");
  assert.equal(formatFieldErrors([a, a]), "spec.x: Required value");
  assert.equal(
    formatFieldErrors([b, a, b]),
    "[spec.x[1]: Duplicate value: 2, spec.x: Required value]",
  );
});
