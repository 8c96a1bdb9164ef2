import assert from "node:assert/strict";
import { test } from "vitest";
import { cloneJson } from "./clone-json.ts";

test("cloneJson copies lists, maps and a member called __proto__, and shares nothing", () => {
  const shared = Object.freeze({ cpu: "1" });
  const value = {
    ...(JSON.parse('{"__proto__":{"a":1}}') as object),
    list: [shared, shared],
    n: 1,
  };
  const copy = cloneJson(value);
  assert.equal(JSON.stringify(copy), JSON.stringify(value));
  assert.notEqual(copy.list[0], shared);
  assert.notEqual(copy.list[0], copy.list[1]);
  assert.equal(Object.isFrozen(copy.list[0]), false);
});
