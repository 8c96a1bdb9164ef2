import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { renderedRows } from "./rendered-rows.ts";

describe("dashboard: rendered rows of a table", () => {
  const cases = [
    {
      name: "at the top: the rows in view and a block after them",
      scrollPx: 0,
      count: 1_000,
      want: [0, 32],
    },
    {
      name: "in the middle: a block on both sides",
      scrollPx: 3_200,
      count: 1_000,
      want: [88, 136],
    },
    {
      name: "at the end: no row after the last",
      scrollPx: 31_200,
      count: 1_000,
      want: [960, 1_000],
    },
    {
      name: "scrolled behind the end of a table that got shorter",
      scrollPx: 9_000,
      count: 3,
      want: [3, 3],
    },
    { name: "an empty table", scrollPx: 0, count: 0, want: [0, 0] },
  ];
  for (const { name, scrollPx, count, want } of cases)
    test(name, () => {
      const { first, end } = renderedRows({ scrollPx, heightPx: 700, rowPx: 32, count });
      assert.deepEqual([first, end], want);
    });

  test("scrolling within a block of rows changes nothing", () => {
    const at = (scrollPx: number) =>
      renderedRows({ scrollPx, heightPx: 640, rowPx: 32, count: 500 });
    assert.deepEqual(at(8 * 32 + 1), at(12 * 32));
  });
});
