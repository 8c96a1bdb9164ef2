import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { JsonObject } from "#api/patch/json-value.ts";
import { finish } from "#lib/async/steps.ts";
import { compareObjects } from "./compare.ts";
import { fieldsOf } from "./fields-of.ts";
import { largeNode, prepareLargeNodes } from "./large-nodes.ts";

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

  test("nodes that were prepared in steps are those that are made at once", () => {
    const [plain, prepared] = [pod(), pod()];
    using _nodes = finish(prepareLargeNodes(prepared, schema));
    assert.ok(largeNode(prepared.metadata.labels, true) !== undefined);
    assert.ok(largeNode(prepared.metadata.finalizers, false) !== undefined);
    for (const sets of [
      [plain, prepared].map((object) => fieldsOf(object, schema)),
      [plain, prepared].map((object) => compareObjects({}, object, schema).changed),
    ]) {
      const [once, inSteps] = sets.map((set) => JSON.stringify(set));
      assert.equal(inSteps, once);
    }
  });

  test("the FieldsV1 of a large map takes many steps, and counts only until it is disposed of", () => {
    const object = pod();
    const steps = prepareLargeNodes(object, schema);
    let count = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) count += 1;
    assert.ok(count >= 8, `${count} steps`);
    step.value[Symbol.dispose]();
    assert.equal(largeNode(object.metadata.labels, true), undefined);
  });

  test("items without a node are left to who asks for it", () => {
    const finalizers = Array.from({ length: COUNT }, () => null);
    using _nodes = finish(prepareLargeNodes({ metadata: { finalizers } }, schema));
    assert.equal(largeNode(finalizers, true), undefined);
  });
});
