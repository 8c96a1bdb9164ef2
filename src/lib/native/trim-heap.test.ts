import assert from "node:assert/strict";
import { test } from "vitest";
import { findTrim } from "./trim-heap.ts";

test("malloc_trim is found where Node has node:ffi and the system has glibc, and can be called", () => {
  const trim = findTrim();
  const report = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  const isPossible =
    process.getBuiltinModule("node:ffi" as "node:fs") !== undefined &&
    report.header.glibcVersionRuntime !== undefined;
  assert.equal(trim !== undefined, isPossible);
  trim?.();
});
