import assert from "node:assert/strict";
import { test } from "vitest";
import { decideLogFiles, rotationStamp } from "./log-files.ts";

test("log rotation: rotated files are compressed, the oldest go beyond containerLogMaxFiles", () => {
  const names = ["0.log.3", "0.log.1.gz", "0.log.2.gz", "0.log.4.tmp", "0.log.5", "0.log.5.gz"];
  assert.deepEqual(decideLogFiles(names, 5), {
    remove: ["0.log.4.tmp", "0.log.5", "0.log.1.gz"],
    compress: ["0.log.3"],
  });
  assert.deepEqual(decideLogFiles(["0.log.1"], 2), { remove: ["0.log.1"], compress: [] });
});

test("container log rotation: the name of a rotated file carries its time", () => {
  assert.equal(rotationStamp(Date.UTC(2026, 0, 2, 15, 4, 5)), "20260102-150405");
});
