import assert from "node:assert/strict";
import { test } from "vitest";
import { freeBuffer } from "./free-buffer.ts";

test("freeBuffer: the ArrayBuffer is detached, where Node can transfer it", () => {
  const buffer = Buffer.allocUnsafeSlow(1024);
  freeBuffer(buffer);
  assert.equal(buffer.length, "transfer" in ArrayBuffer.prototype ? 0 : 1024);
});
