import assert from "node:assert/strict";
import { test } from "vitest";
import { goQuote } from "./go-quote.ts";

const rows: readonly (readonly [text: string, quoted: string])[] = [
  ["", '""'],
  ["plain text", '"plain text"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ["\x07\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'],
  ["\x00\x7f", '"\\x00\\x7f"'],
  ["h\u00e9llo \u4e16\u754c \u{1f600}", '"h\u00e9llo \u4e16\u754c \u{1f600}"'],
  ["\u00a0\u200b\ufeff", '"\\u00a0\\u200b\\ufeff"'],
  ["\u{e0001}", '"\\U000e0001"'],
  ["\ud800", '"\ufffd"'],
];
for (const [text, quoted] of rows) {
  test(`goQuote: quoted: ${quoted}`, () => assert.equal(goQuote(text), quoted));
}
