import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { JsonObject } from "#api/patch/json-value.ts";
import { finish } from "#lib/async/steps.ts";
import { compareObjects } from "./compare.ts";
import { fieldsOf } from "./fields-of.ts";
import { largeNodesOf } from "./large-nodes.ts";

const COUNT = 10_000;
const names = Array.from({ length: COUNT }, (_, n) => `k${(n * 7_919) % COUNT}`);

const pod = (): { metadata: JsonObject & { labels: object; finalizers: readonly string[] } } => ({
  metadata: {
    name: "a",
    labels: Object.fromEntries(names.map((name) => [name, "v"])),
    finalizers: [...names, "repeated", "repeated"],
  },
});

describe("managed fields: large maps and lists", () => {
  const schema = podKind.schema();

  test("nodes of FieldsV1 that were made in steps are those that are made at once", () => {
    const object = pod();
    const nodes = finish(largeNodesOf(object, schema));
    assert.ok(nodes.has(object.metadata.labels));
    assert.ok(nodes.has(object.metadata.finalizers));
    for (const [inSteps, once] of [
      [fieldsOf(object, schema, nodes), fieldsOf(object, schema)],
      [compareObjects({}, object, schema, nodes), compareObjects({}, object, schema)],
    ]) {
      assert.equal(JSON.stringify(inSteps), JSON.stringify(once));
    }
  });

  test("the FieldsV1 of a large map takes many steps", () => {
    let count = 0;
    for (const _ of largeNodesOf(pod(), schema)) count += 1;
    assert.ok(count >= 8, `${count} steps`);
  });

  test("FieldsV1: items of a large list with keys are compared by groups that were made in steps", () => {
    const containers = names.map((name) => ({ name, image: "a" }));
    const object = { spec: { containers: [...containers, { name: "k1", image: "b" }] } };
    const nodes = finish(largeNodesOf(object, schema));
    assert.equal(nodes.get(object.spec.containers)?.groups?.get('k:{"name":"k1"}')?.length, 2);
    const before = { spec: { containers: [{ name: "k2", image: "b" }] } };
    assert.deepEqual(
      compareObjects(before, object, schema, nodes),
      compareObjects(before, object, schema),
    );
  });

  test("list items without a node are left to the comparison", () => {
    const finalizers = Array.from({ length: COUNT }, () => null);
    assert.equal(finish(largeNodesOf({ metadata: { finalizers } }, schema)).size, 0);
  });
});
