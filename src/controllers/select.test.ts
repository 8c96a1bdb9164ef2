import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { builtInControllers } from "./controllers.ts";
import { selectControllers, selectionOf } from "./select.ts";

const JOB = "job-controller";
const TTL = "ttl-controller";
const CLEANER = "token-cleaner-controller";
const rows: { asked: readonly string[]; want: readonly string[] }[] = [
  { asked: ["*"], want: [JOB, TTL] },
  { asked: ["*", "tokencleaner"], want: [JOB, TTL, CLEANER] },
  { asked: ["*", "-ttl-controller"], want: [JOB] },
  { asked: ["-ttl", "*", CLEANER], want: [JOB, CLEANER] },
  { asked: ["job"], want: [JOB] },
  { asked: ["-job", "job", "*"], want: [TTL] },
];

describe("--controllers", () => {
  for (const { asked, want } of rows) {
    test(asked.join(","), () => {
      const selection = selectionOf(asked);
      assert.deepEqual([JOB, TTL, CLEANER].filter(selection.has), want);
      assert.deepEqual(selection.unknown, []);
    });
  }

  test("a name that nobody knows is told", () => {
    assert.deepEqual(selectionOf(["*", "-nodeipam", "jobs", "-pods"]).unknown, ["jobs", "pods"]);
  });

  test("every controller has a name that can be asked for", () => {
    const names = builtInControllers({}).map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => selectionOf([name]).unknown.length > 0),
      [],
    );
    assert.deepEqual(
      selectControllers(builtInControllers({}), selectionOf(["deployment"])).map((c) => c.name),
      ["deployment-controller"],
    );
  });
});
