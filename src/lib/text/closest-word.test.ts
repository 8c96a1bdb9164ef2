import assert from "node:assert/strict";
import { test } from "vitest";
import { closestWord } from "./closest-word.ts";

test.each([
  { typed: "stauts", want: "status" },
  { typed: "donw", want: "down" },
  { typed: "--prot", want: "--port" },
  { typed: "snapshots", want: "snapshot" },
  { typed: "sch", want: undefined },
  { typed: "xyzzy", want: undefined },
  { typed: "", want: undefined },
])("closestWord: closest word to $typed is $want", ({ typed, want }) => {
  const words = ["up", "down", "status", "snapshot", "scheduler", "--port"];
  assert.equal(closestWord(typed, words), want);
});
