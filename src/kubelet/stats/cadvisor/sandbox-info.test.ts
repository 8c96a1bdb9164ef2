import assert from "node:assert/strict";
import { test } from "vitest";
import { parseSandboxInfo } from "./sandbox-info.ts";

for (const [name, info, want] of [
  ["containerd", { info: '{"pid":42,"image":"pause:3.10"}' }, { pid: 42, image: "pause:3.10" }],
  ["a sandbox without a process", { info: '{"pid":0}' }, { pid: undefined, image: "" }],
  ["a runtime that says nothing", {}, { pid: undefined, image: "" }],
  ["text that is no JSON", { info: "?" }, { pid: undefined, image: "" }],
  ["JSON that is no object", { info: "null" }, { pid: undefined, image: "" }],
] as const) {
  test(`parseSandboxInfo: ${name}`, () => assert.deepEqual(parseSandboxInfo(info), want));
}
