import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { windowFor } from "./window-for.ts";

describe("dashboard: windowFor the rows of a table in view", () => {
  const cases = [
    { name: "rows well inside: the same window", first: 180, end: 220, offset: 100, want: 100 },
    {
      name: "near the end: the rows get into the middle",
      first: 420,
      end: 460,
      offset: 100,
      want: 240,
    },
    {
      name: "near the begin: the rows get into the middle",
      first: 1_010,
      end: 1_050,
      offset: 1_000,
      want: 830,
    },
    { name: "the top of the table needs nothing before it", first: 0, end: 40, offset: 0, want: 0 },
    { name: "a jump far away", first: 90_000, end: 90_040, offset: 0, want: 89_820 },
    { name: "never before the first row", first: 5, end: 45, offset: 30, want: 0 },
  ];
  for (const { name, want, ...view } of cases)
    test(name, () => assert.equal(windowFor({ ...view, limit: 400 }), want));
});
