import assert from "node:assert/strict";
import { test } from "vitest";
import { cloneGiven, isGivenEmpty, markGivenEmpty } from "./given-empty.ts";

test("a copy knows what was given empty, and shares what the original shares", () => {
  const labels = { a: "b" };
  const object = { metadata: { labels }, template: { labels }, list: [{ x: 1 }] };
  markGivenEmpty(object.metadata, "annotations");
  const copy = cloneGiven(object);
  assert.deepEqual(copy, object);
  assert.notEqual(copy.list[0], object.list[0]);
  assert.equal(copy.metadata.labels, copy.template.labels);
  assert.notEqual(copy.metadata.labels, labels);
  assert.ok(isGivenEmpty(copy.metadata, "annotations"));
  assert.ok(!isGivenEmpty(copy.metadata, "labels"));
});

test("a copy has no other prototype", () => {
  const copy = cloneGiven(JSON.parse('{"__proto__":{"a":1}}'));
  assert.deepEqual(Object.keys(copy), ["__proto__"]);
});
