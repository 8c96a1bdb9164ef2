import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { findJsonExcess, JSON_LIST_OBJECTS_MAX, JSON_VALUES_MAX } from "./json-limits.ts";

const rows: [name: string, text: string, want: string | undefined][] = [
  ["10,000 containers", list(JSON_LIST_OBJECTS_MAX, "{}"), undefined],
  ["10,001 containers", list(JSON_LIST_OBJECTS_MAX + 1, "{}"), "limit is 10000 objects in lists"],
  [
    "10,001 objects in many lists",
    `[${list(JSON_LIST_OBJECTS_MAX / 2, "{}")},${list(JSON_LIST_OBJECTS_MAX / 2 + 1, "{}")}]`,
    "limit is 10000 objects in lists",
  ],
  ["65,000 list items", list(JSON_VALUES_MAX, "1"), undefined],
  ["65,002 list items", list(JSON_VALUES_MAX + 2, "1"), "limit is 65000 values"],
  ["65,001 keys", `{${list(JSON_VALUES_MAX + 1, '"a":1').slice(1, -1)}}`, "limit is 65000 values"],
  ["brackets, braces and commas in strings", `["\\"${"[{},".repeat(200_000)}"]`, undefined],
  ["objects in objects", `{${list(60_000, '"a":{}').slice(1, -1)}}`, undefined],
  ["text that nests too deep", "[".repeat(3_000_000), undefined],
  ["closing brackets without an opening one", "]".repeat(100_000), undefined],
  ["a string without an end", `"${"a".repeat(100_000)}`, undefined],
];

describe("JSON limits of a request body", () => {
  test.each(rows)("%s", (_, text, want) => {
    assert.equal(findJsonExcess(Buffer.from(text)), want);
  });
});

function list(count: number, item: string): string {
  return `[${Array.from({ length: count }, () => item).join(",")}]`;
}
