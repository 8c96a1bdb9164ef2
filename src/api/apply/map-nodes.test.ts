import { expect, test } from "vitest";
import { LEAF } from "./field-set.ts";
import { mapNode } from "./map-nodes.ts";

test("mapNode: labels with the same names share one node, whatever their values and order", () => {
  const node = mapNode({ app: "web", tier: "front" }, true);
  expect(node).toEqual({ ".": {}, "f:app": {}, "f:tier": {} });
  expect(mapNode({ tier: "back", app: "db" }, true)).toBe(node);
  expect(Object.keys(mapNode({ tier: "a", app: "b" }, false))).toEqual(["f:app", "f:tier"]);
});

test("mapNode: names with spaces in them are not taken for several names", () => {
  expect(mapNode({ a: "1", b: "2" }, false)).toEqual({ "f:a": {}, "f:b": {} });
  expect(mapNode({ "a b": "1" }, false)).toEqual({ "f:a b": {} });
  expect(mapNode({ a: "1", b: "2" }, false)).toEqual({ "f:a": {}, "f:b": {} });
});

test("mapNode: entries without a value do not count; an empty map is a leaf", () => {
  expect(mapNode({ app: "web", tier: undefined }, false)).toEqual({ "f:app": {} });
  expect(mapNode({}, true)).toBe(LEAF);
});
