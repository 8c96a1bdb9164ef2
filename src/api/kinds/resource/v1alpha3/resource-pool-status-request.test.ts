import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { resourcePoolStatusRequestKind as poolRequest } from "./resource-pool-status-request.ts";

describe("ResourcePoolStatusRequest: questions about pools", () => {
  const spec = { driver: "d" };
  const pool = { driver: "d", poolName: "p", generation: 1, totalDevices: 4, availableDevices: 3 };
  const complete = {
    type: "Complete",
    status: "True",
    lastTransitionTime: "2030-01-01T00:00:00Z",
    reason: "R",
    message: "",
  };
  const answer = (status: object, old?: object) => ({
    object: { spec, status },
    old: { spec, ...(old === undefined ? {} : { status: old }) },
    subresource: "status",
  });
  const rows = [
    {
      name: "no driver, invalid poolName and limit",
      write: { object: { spec: { driver: "", poolName: "a//b", limit: 1001 } } },
      faults: [
        "spec.driver: Required value",
        'spec.poolName: Invalid value: "a//b": segment 1: must not be empty',
        "spec.limit: Invalid value: 1001: must be less than or equal to 1000",
      ],
    },
    {
      name: "something else now",
      write: { object: { spec: { driver: "e" } }, old: { spec } },
      faults: ["spec: Invalid value: null: field is immutable"],
    },
    {
      name: "answers without count, about nothing",
      write: answer({ pools: [{ generation: 0, resourceSliceCount: 0 }] }),
      faults: [
        "status.poolCount: Required value",
        "status.pools[0].driver: Required value",
        "status.pools[0].poolName: Required value",
        "status.pools[0].generation: Required value",
        "status.pools[0].resourceSliceCount: Invalid value: 0: must be greater than or equal to 1",
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(poolRequest, write).faults, faults));
  }

  test("the columns show driver, pools and state", () => {
    const outcome = runKind(
      poolRequest,
      answer({ poolCount: 2, pools: [pool], conditions: [complete] }),
    );
    const cells = cellsOf(poolRequest, outcome, Date.UTC(2030, 0, 2));
    assert.deepEqual(cells.slice(1), [
      "d",
      "4",
      "3",
      "0",
      "0",
      "0",
      2,
      "Complete (1/2 pools)",
      "24h",
    ]);
    const pending = runKind(poolRequest, { object: { spec } });
    assert.deepEqual(cellsOf(poolRequest, pending).slice(2), [
      "-",
      "-",
      "-",
      "-",
      "-",
      0,
      "Pending",
      "<none>",
    ]);
  });
});
