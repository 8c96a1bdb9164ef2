import assert from "node:assert/strict";
import { test } from "vitest";
import { lazy } from "./lazy.ts";

test("lazy: the value is made at the first call, once, undefined too", () => {
  let calls = 0;
  const value = lazy(() => {
    calls += 1;
    return undefined;
  });
  assert.equal(calls, 0);
  assert.equal(value(), undefined);
  assert.equal(value(), undefined);
  assert.equal(calls, 1);
});
