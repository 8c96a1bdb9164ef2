import assert from "node:assert/strict";
import { test } from "vitest";
import { logEnd } from "./termination-message.ts";

const AT = "2030-01-01T00:00:00.000000000Z";

test.each([
  ["whole lines", `${AT} stdout F one two\n${AT} stderr F three\n`, "one two\nthree\n"],
  ["the end of a partial line", `${AT} stdout P DONE\n`, "DONE"],
  ["the parts of a line", `${AT} stdout P DO\n${AT} stdout F NE\n`, "DONE\n"],
  ["nothing", "", ""],
])("FallbackToLogsOnError takes %s from the log", (_, log, message) => {
  assert.equal(logEnd(log), message);
});

test("FallbackToLogsOnError takes the last 80 lines and 2,048 bytes", () => {
  const lines = Array.from({ length: 100 }, (_unused, index) => `${AT} stdout F line ${index}`);
  assert.match(logEnd(lines.join("\n")), /^line 20\n/);
  assert.equal(logEnd(`${AT} stdout F ${"x".repeat(5_000)}`).length, 2_048);
});
