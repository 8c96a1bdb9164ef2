import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { runKind } from "#api/testing/run-kind.ts";
import { runtimeClassKind } from "./runtime-class.ts";

const toleration = { key: "k", operator: "Exists" };

describe("RuntimeClass: runtime classes", () => {
  const rows = [
    { name: "no handler", write: { object: {} }, faults: ["handler: Required value"] },
    {
      name: "less than no overhead",
      write: { object: { handler: "h", overhead: { podFixed: { cpu: "-1" } } } },
      faults: ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    },
    {
      name: "a toleration twice",
      write: { object: { handler: "h", scheduling: { tolerations: [toleration, toleration] } } },
      faults: [
        'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}',
      ],
    },
    {
      name: "another handler",
      write: { object: { handler: "i" }, old: { handler: "h" } },
      faults: ['handler: Invalid value: "i": field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(runtimeClassKind, write).faults, faults));
  }

  test("old labels are warned about", () => {
    const scheduling = { nodeSelector: { "beta.kubernetes.io/arch": "amd64" } };
    assert.deepEqual(runKind(runtimeClassKind, { object: { handler: "h", scheduling } }).warnings, [
      'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead',
    ]);
  });
});
