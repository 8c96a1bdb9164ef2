import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

const letters = "abcdefghijklmnopqrstuvwxyz".split("");

describe("unifiedDiff", () => {
  const cases = [
    { name: "equal texts have none", before: "a\nb", after: "a\nb", want: "" },
    {
      name: "a changed line with three lines around it",
      before: letters.join("\n"),
      after: letters.join("\n").replace("m", "M"),
      want: "@@ -10,7 +10,7 @@\n j\n k\n l\n-m\n+M\n n\n o\n p\n",
    },
    {
      name: "an added line at the end",
      before: "a\nb",
      after: "a\nb\nc",
      want: "@@ -1,2 +1,3 @@\n a\n b\n+c\n",
    },
    {
      name: "changes far apart get hunks of their own",
      before: letters.join("\n"),
      after: letters.join("\n").replace("b", "B").replace("y", "Y"),
      want: "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -22,5 +22,5 @@\n v\n w\n x\n-y\n+Y\n z\n",
    },
    {
      name: "a replaced line is removed and added",
      before: "a",
      after: "b",
      want: "@@ -1 +1 @@\n-a\n+b\n",
    },
    { name: "a removed first line", before: "a\nb", after: "b", want: "@@ -1,2 +1 @@\n-a\n b\n" },
  ];
  for (const { name, before, after, want } of cases) {
    test(name, () => assert.equal(unifiedDiff(before, after), want));
  }

  test("common lines of a long text do not start a match", () => {
    const common = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? "{" : `line ${i}`));
    const changed = common.with(201, "another");
    assert.equal(
      unifiedDiff(common.join("\n"), changed.join("\n")),
      "@@ -199,7 +199,7 @@\n {\n line 199\n {\n-line 201\n+another\n {\n line 203\n {\n",
    );
  });
});
