import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ResourceSlice } from "#api/generated/resource.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { resourceSliceKind as kind } from "./resource-slice.ts";

const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
const made = { driver: "d", pool, nodeName: "n" };
const slice = (spec: object) => ({ spec: { ...made, ...spec } });
const ofDevice = (fields: object, spec: object = {}) =>
  slice({ devices: [{ name: "dev", ...fields }], ...spec });
const shared = (requestPolicy: object) => ({
  allowMultipleAllocations: true,
  capacity: { c: { value: "10", requestPolicy } },
});

describe("ResourceSlice: slices", () => {
  const NODES =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  const rows = [
    {
      name: "no node selection, no driver",
      object: slice({
        driver: "",
        nodeName: undefined,
        pool: { ...pool, name: "", resourceSliceCount: 0, generation: -1 },
      }),
      faults: [
        "spec.driver: Required value",
        "spec.pool.name: Required value",
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
        `spec: Required value: ${NODES}`,
      ],
    },
    {
      name: "in two ways everywhere",
      object: slice({ allNodes: true, perDeviceNodeSelection: false }),
      faults: [
        "spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true",
        `spec: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${NODES}, but multiple fields are set`,
      ],
    },
    {
      name: "by a selector of no terms",
      object: slice({ nodeName: undefined, nodeSelector: { nodeSelectorTerms: [] } }),
      faults: [
        "spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term",
        "spec.nodeSelector.nodeSelectorTerms: Invalid value: []: must have exactly one node selector term",
      ],
    },
    {
      name: "counters and devices",
      object: ofDevice({}, { sharedCounters: [{ name: "s", counters: { c: { value: "1" } } }] }),
      faults: ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
    },
    {
      name: "devices twice",
      object: slice({ devices: [{ name: "a" }, { name: "a" }] }),
      faults: ['spec.devices[1]: Duplicate value: "a"'],
    },
    {
      name: "devices on nodes of their own",
      object: ofDevice({ nodeName: "n" }),
      faults: [
        "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
      ],
    },
    {
      name: "devices on no node",
      object: ofDevice({}, { nodeName: undefined, perDeviceNodeSelection: true }),
      faults: [
        "spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
      ],
    },
    {
      name: "attributes of two values, or of none",
      object: ofDevice({ attributes: { a: { int: 1, bool: true }, b: {} } }),
      faults: [
        'spec.devices[0].attributes[a]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must be specified',
        'spec.devices[0].attributes[b]: Invalid value: "": exactly one value must be specified',
      ],
    },
    {
      name: "versions that are none, and long texts",
      object: ofDevice({ attributes: { a: { version: "1.0" }, b: { string: "x".repeat(65) } } }),
      faults: [
        'spec.devices[0].attributes[a].version: Invalid value: "1.0": must be a string compatible with semver.org spec 2.0.0',
        "spec.devices[0].attributes[b].string: Too long: may not be more than 64 bytes",
      ],
    },
    {
      name: "names of attributes that cannot be",
      object: ofDevice({ attributes: { "/a": { int: 1 }, "d/": { int: 1 } } }),
      faults: [
        'spec.devices[0].attributes: Invalid value: "": the domain must not be empty',
        'spec.devices[0].attributes: Invalid value: "": the name must not be empty',
      ],
    },
    {
      name: "too many attributes",
      object: ofDevice({
        attributes: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`a${i}`, { int: i }])),
      }),
      faults: [
        "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32",
      ],
    },
    {
      name: "taints of no effect",
      object: ofDevice({ taints: [{ key: "k", effect: "" }] }),
      faults: ["spec.devices[0].taints[0].effect: Required value"],
    },
    {
      name: "counters that are not named, and none",
      object: ofDevice({ consumesCounters: [{ counterSet: "", counters: {} }] }),
      faults: [
        "spec.devices[0].consumesCounters[0].counterSet: Required value",
        "spec.devices[0].consumesCounters[0].counters: Required value",
      ],
    },
    {
      name: "another driver",
      object: slice({ driver: "e" }),
      old: slice({}),
      faults: ['spec.driver: Invalid value: "e": field is immutable'],
    },
  ];
  for (const { name, object, old, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        runKind(kind, { object, ...(old === undefined ? {} : { old }) }).faults,
        faults,
      ));
  }

  test("taints get the time, lists are not on yet", () => {
    const { spec } = runKind(kind, {
      object: ofDevice({
        taints: [{ key: "k", effect: "NoExecute" }],
        attributes: { a: { int: 1, ints: [1] } },
      }),
      nowMs: 1000,
    }).object as ResourceSlice;
    assert.deepEqual(spec.devices?.[0]?.taints, [
      { key: "k", effect: "NoExecute", timeAdded: "1970-01-01T00:00:01Z" },
    ]);
    assert.deepEqual(spec.devices?.[0]?.attributes, { a: { int: 1 } });
  });

  test("names of drivers are lower case; cells", () => {
    const outcome = runKind(kind, { object: slice({ driver: "D" }) });
    assert.deepEqual(outcome.warnings, [
      'spec.driver: driver names should be lowercase; "D" contains uppercase characters',
    ]);
    assert.deepEqual(cellsOf(kind, outcome).slice(1, 4), ["n", "D", "p"]);
  });
});

describe("capacities that claims share", () => {
  const POLICY = "spec.devices[0].capacity[c].requestPolicy";
  const rows = [
    {
      name: "of a device without allowMultipleAllocations",
      device: { ...shared({ default: "1", validValues: ["1"] }), allowMultipleAllocations: false },
      faults: [`${POLICY}: Forbidden: allowMultipleAllocations must be true`],
    },
    {
      name: "by values and by a range",
      device: shared({ default: "1", validValues: ["1"], validRange: { min: "1" } }),
      faults: [
        `${POLICY}: Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`,
      ],
    },
    {
      name: "without default",
      device: shared({ validValues: ["1"] }),
      faults: [`${POLICY}.default: Required value: required when validValues is defined`],
    },
    {
      name: "values in disorder, too large, and not the default",
      device: shared({ default: "3", validValues: ["2", "1", "11"] }),
      faults: [
        `${POLICY}.validValues[1]: Invalid value: "1": values must be sorted in ascending order`,
        `${POLICY}.validValues[2]: Invalid value: "11": option is larger than capacity value: 10`,
        `${POLICY}.validValues: Invalid value: "3": default value is not valid according to the requestPolicy`,
      ],
    },
    {
      name: "a range beyond the capacity",
      device: shared({ default: "1", validRange: { min: "2", max: "12" } }),
      faults: [
        `${POLICY}.validRange.min: Invalid value: "1": default is less than min: 2`,
        `${POLICY}.validRange.max: Invalid value: "12": max is larger than capacity value: 10`,
      ],
    },
    {
      name: "steps that miss",
      device: shared({ default: "4", validRange: { min: "1", max: "7", step: "2" } }),
      faults: [
        `${POLICY}.validRange.step: Invalid value: "4": value is not a multiple of a given step (2) from (1)`,
      ],
    },
  ];
  for (const { name, device, faults } of rows) {
    test(`refuse those ${name}`, () =>
      assert.deepEqual(runKind(kind, { object: ofDevice(device) }).faults, faults));
  }

  test("a range in steps", () => {
    const device = shared({ default: "3", validRange: { min: "1", max: "7", step: "2" } });
    assert.deepEqual(runKind(kind, { object: ofDevice(device) }).faults, []);
  });
});
