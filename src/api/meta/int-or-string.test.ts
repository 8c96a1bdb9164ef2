import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { type IntOrString, scaledIntOrPercent } from "./int-or-string.ts";

describe("scaledIntOrPercent: a share of a total", () => {
  const rows: readonly (readonly [IntOrString, total: number, up: number, down: number])[] = [
    [5, 10, 5, 5],
    ["25%", 10, 3, 2],
    ["100%", 7, 7, 7],
    ["0%", 7, 0, 0],
    ["-10%", 10, -1, -1],
    ["1%", 50, 1, 0],
  ];
  for (const [value, total, up, down] of rows) {
    test(`${value} of ${total}`, () => {
      assert.deepEqual(scaledIntOrPercent(value, total, "up"), { ok: true, value: up });
      assert.deepEqual(scaledIntOrPercent(value, total, "down"), { ok: true, value: down });
    });
  }
  const faults: readonly (readonly [text: string, why: string])[] = [
    ["5", "invalid type: string is not a percentage"],
    ["", "invalid type: string is not a percentage"],
    ["a%", 'invalid value "a%": strconv.Atoi: parsing "a": invalid syntax'],
    ["%", 'invalid value "%": strconv.Atoi: parsing "": invalid syntax'],
    [
      "9223372036854775808%",
      'invalid value "9223372036854775808%": strconv.Atoi: parsing "9223372036854775808": value out of range',
    ],
  ];
  for (const [text, why] of faults) {
    test(`${JSON.stringify(text)} is refused`, () => {
      const error = `invalid value for IntOrString: ${why}`;
      assert.deepEqual(scaledIntOrPercent(text, 10, "up"), { ok: false, error });
    });
  }
});
