import assert from "node:assert/strict";
import { test } from "vitest";
import { formatIndexes, readIndexes } from "./index-set.ts";

const rows: readonly [text: string, completions: number, want: string][] = [
  ["", 5, ""],
  ["0,1", 5, "0,1"],
  ["0-2,4", 5, "0-2,4"],
  ["0,1,2,5-7", 7, "0-2,5,6"],
  ["1,x,3-", 9, "1"],
  ["8", 3, ""],
];

for (const [text, completions, want] of rows) {
  test(`completedIndexes ${JSON.stringify(text)} below ${completions} are ${JSON.stringify(want)}`, () => {
    assert.equal(formatIndexes(readIndexes(text, completions)), want);
  });
}
