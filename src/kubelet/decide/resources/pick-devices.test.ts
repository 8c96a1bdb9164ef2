import assert from "node:assert/strict";
import { test } from "vitest";
import { deviceCandidates, pickDevices } from "./pick-devices.ts";

const NONE = new Set<string>();

test("device plug-ins: devices of other pods are not candidates, those of init containers are included", () => {
  const choice = {
    ...{ resource: "example.com/gpu", count: 2, healthy: ["a", "b", "c"] },
    taken: new Set(["a", "b"]),
    reusable: ["b", "gone"],
  };
  assert.deepEqual(deviceCandidates(choice), {
    ok: true,
    mustInclude: ["b"],
    available: ["b", "c"],
  });
});

test("device plug-ins: too few healthy devices are refused in upstream's words", () => {
  const choice = { resource: "example.com/gpu", count: 2, taken: NONE, reusable: [] };
  assert.deepEqual(deviceCandidates({ ...choice, healthy: ["a"] }), {
    ok: false,
    message:
      "requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1",
  });
  assert.deepEqual(deviceCandidates({ ...choice, healthy: [] }), {
    ok: false,
    message: "no healthy devices present; cannot allocate unhealthy devices example.com/gpu",
  });
});

test("GetPreferredAllocation: unknown and surplus devices in the answer are ignored", () => {
  assert.deepEqual(pickDevices(2, ["a"], ["a", "b", "c"], ["x", "c", "b"]), ["a", "c"]);
  assert.deepEqual(pickDevices(2, [], ["a", "b", "c"]), ["a", "b"]);
});
