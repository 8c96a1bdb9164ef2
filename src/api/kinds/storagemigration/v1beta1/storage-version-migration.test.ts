import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { storageVersionMigrationKind as kind } from "./storage-version-migration.ts";

const spec = { resource: { group: "apps", resource: "deployments" } };
const condition = (type: string, status = "True") => ({
  type,
  status,
  lastTransitionTime: "2030-01-01T00:00:00Z",
  reason: "R",
  message: "",
});
const statusWrite = (status: object, old: object = {}) => ({
  object: { spec, status },
  old: { spec, status: old },
  subresource: "status",
});
const faultsWithoutValues = (write: Parameters<typeof runKind>[1]) =>
  runKind(kind, write).faults.map((fault) => fault.replace(/Invalid value: \[.*\]: /, ""));

describe("StorageVersionMigration: migrations of stored objects", () => {
  const rows = [
    {
      name: "of nothing",
      write: { object: { spec: { resource: {} } } },
      faults: ["spec.resource.resource: Required value: resource is required to be set"],
    },
    {
      name: "of something else now",
      write: { object: { spec: { resource: { group: "", resource: "pods" } } }, old: { spec } },
      faults: [
        'spec: Invalid value: {"Resource":{"group":"","resource":"pods"}}: field is immutable',
      ],
    },
    {
      name: "to no version",
      write: statusWrite({ resourceVersion: "01" }),
      faults: [
        'status.resourceVersion: Invalid value: "01": resource version is not well formed: 01',
      ],
    },
    {
      name: "to another version",
      write: statusWrite({ resourceVersion: "2" }, { resourceVersion: "1" }),
      faults: ['status.resourceVersion: Invalid value: "2": field is immutable'],
    },
    {
      name: "that worked and did not",
      write: statusWrite({ conditions: [condition("Succeeded"), condition("Failed")] }),
      faults: [
        "status.conditions: Both success and failed conditions cannot be true at the same time",
      ],
    },
    {
      name: "that worked, but no longer",
      write: statusWrite(
        { conditions: [condition("Succeeded", "False")] },
        { conditions: [condition("Succeeded")] },
      ),
      faults: ["status.conditions: Success condition cannot be set to false once it is true"],
    },
    {
      name: "that failed, but no longer",
      write: statusWrite({}, { conditions: [condition("Failed")] }),
      faults: [
        "status.conditions: Invalid value: null: Failed condition cannot be set to false once it is true",
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse those ${name}`, () => assert.deepEqual(faultsWithoutValues(write), faults));
  }

  test("the columns show the resource and its condition", () => {
    const outcome = runKind(kind, statusWrite({ conditions: [condition("Running")] }));
    assert.deepEqual(cellsOf(kind, outcome), ["x", "deployments.apps", "Running"]);
    assert.equal(cellsOf(kind, runKind(kind, { object: { spec } }))[2], "Unknown");
  });
});
