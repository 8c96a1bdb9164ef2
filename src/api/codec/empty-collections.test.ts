import assert from "node:assert/strict";
import { test } from "vitest";
import {
  cloneObject,
  isEmptyCollection,
  markEmptyCollection,
  sentValue,
} from "./empty-collections.ts";

test("cloneObject: the copy has the empty collections, and shares what the original shares", () => {
  const labels = { a: "b" };
  const object = { metadata: { labels }, template: { labels }, list: [{ x: 1 }] };
  markEmptyCollection(object.metadata, "annotations");
  const copy = cloneObject(object);
  assert.deepEqual(copy, object);
  assert.notEqual(copy.list[0], object.list[0]);
  assert.equal(copy.metadata.labels, copy.template.labels);
  assert.notEqual(copy.metadata.labels, labels);
  assert.ok(isEmptyCollection(copy.metadata, "annotations"));
  assert.ok(!isEmptyCollection(copy.metadata, "labels"));
});

test("cloneObject: a copy has no other prototype", () => {
  const copy = cloneObject(JSON.parse('{"__proto__":{"a":1}}'));
  assert.deepEqual(Object.keys(copy), ["__proto__"]);
});

test("cloneObject: a spread copy has the empty collections; marking one of the two leaves the other as it was", () => {
  const spec: Record<string, unknown> = { nodeName: "a" };
  markEmptyCollection(spec, "tolerations");
  const copy = { ...spec };
  markEmptyCollection(copy, "volumes");
  assert.deepEqual(sentValue(copy, "tolerations"), []);
  assert.ok(isEmptyCollection(copy, "volumes"));
  assert.ok(!isEmptyCollection(spec, "volumes"));
});

test("neither JSON nor keys of an object show its empty collections", () => {
  const spec = { nodeName: "a" };
  markEmptyCollection(spec, "tolerations");
  assert.equal(JSON.stringify(spec), '{"nodeName":"a"}');
  assert.deepEqual(Object.keys(spec), ["nodeName"]);
});
