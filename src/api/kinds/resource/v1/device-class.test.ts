import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { runKind } from "#api/testing/run-kind.ts";
import { deviceClassKind } from "./device-class.ts";

describe("device classes", () => {
  const rows = [
    {
      name: "a resource that is no device",
      spec: { extendedResourceName: "cpu" },
      faults: [
        'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
      ],
    },
    {
      name: "too much configuration",
      spec: { config: [{ opaque: { driver: "d", parameters: { a: "x".repeat(10 * 1024) } } }] },
      faults: ["spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes"],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(runKind(deviceClassKind, { object: { spec } }).faults, faults));
  }

  test("configuration that was stored may stay", () => {
    const parameters = { a: "x".repeat(10 * 1024) };
    const object = { spec: { config: [{ opaque: { driver: "d", parameters } }] } };
    assert.deepEqual(runKind(deviceClassKind, { object, old: object }).faults, []);
  });

  test("selectors go to the compiler", () => {
    const asked: unknown[] = [];
    const expressions = {
      admission: () => undefined,
      schema: () => [],
      device: (expression: string, stored: boolean) => {
        asked.push([expression, stored]);
        return [{ type: "invalid" as const, detail: "no" }];
      },
    };
    const object = { spec: { selectors: [{ cel: { expression: "e" } }] } };
    assert.deepEqual(runKind(deviceClassKind, { object, context: { expressions } }).faults, [
      'spec.selectors[0].cel.expression: Invalid value: "e": no',
    ]);
    runKind(deviceClassKind, { object, old: object, context: { expressions } });
    assert.deepEqual(asked, [
      ["e", false],
      ["e", true],
    ]);
  });
});
