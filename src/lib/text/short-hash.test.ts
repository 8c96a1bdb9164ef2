import assert from "node:assert/strict";
import { test } from "vitest";
import { shortHash } from "./short-hash.ts";

test("shortHash: the first digits of the SHA-256 in base 32", () => {
  // sha256("abc") begins with ba7816bf8f01cfea41.
  assert.equal(shortHash("abc", 1), "X");
  assert.equal(shortHash("abc", 8), "XJ4BNP4P");
  assert.equal(shortHash("abc", 16), "XJ4BNP4PAHH6UQKB");
});
