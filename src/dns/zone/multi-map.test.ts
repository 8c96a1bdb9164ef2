import assert from "node:assert/strict";
import { test } from "vitest";
import { MultiMap } from "./multi-map.ts";

test("MultiMap: remove takes away one occurrence of the value; the others stay in order", () => {
  const map = new MultiMap<string, string>();
  for (const value of ["b", "a", "b"]) map.add("key", value);
  map.remove("key", "a");
  assert.deepEqual(map.get("key"), ["b", "b"]);
  map.remove("key", "c");
  assert.deepEqual(map.get("key"), ["b", "b"]);
  map.remove("key", "b");
  assert.deepEqual(map.get("key"), ["b"]);
  map.remove("key", "b");
  map.remove("key", "b");
  assert.deepEqual(map.get("key"), []);
});
