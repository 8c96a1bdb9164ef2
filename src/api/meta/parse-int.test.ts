import assert from "node:assert/strict";
import { test } from "vitest";
import { int64Fault } from "./parse-int.ts";

const rows: readonly [text: string, fault: string | undefined][] = [
  ["0", undefined],
  ["-007", undefined],
  ["+5", undefined],
  ["9223372036854775807", undefined],
  ["-9223372036854775808", undefined],
  ["9223372036854775808", "value out of range"],
  ["", "invalid syntax"],
  ["1.5", "invalid syntax"],
  ["0x1", "invalid syntax"],
];
for (const [text, fault] of rows) {
  test(`int64Fault of ${JSON.stringify(text)}`, () => {
    const want = fault && `strconv.ParseInt: parsing ${JSON.stringify(text)}: ${fault}`;
    assert.equal(int64Fault(text), want);
  });
}
