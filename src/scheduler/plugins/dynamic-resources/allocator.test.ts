import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { DeviceClass, ResourceSlice } from "#api/generated/resource.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { Cache } from "#client/cache.ts";
import { build } from "#testing/build.ts";
import { allocateDevices } from "./allocator.ts";
import { PoolIndex } from "./device-pools.ts";
import { WantedDevicesReader } from "./wanted-devices.ts";

const DEVICES = 20;

/** 8 of 20 devices, and then more than are left: 125,970 choices lead nowhere. */
function search(timeoutMs: number, stepMs: number, more = DEVICES - 7) {
  const deviceClasses = new Cache<DeviceClass>();
  deviceClasses.put(build(deviceClassKind, { metadata: { name: "gpu" }, spec: {} }));
  const slices = new Cache<ResourceSlice>();
  slices.put(
    build(resourceSliceKind, {
      metadata: { name: "s" },
      spec: {
        ...{ driver: "gpu.example.com", nodeName: "n1" },
        pool: { name: "n1", generation: 1, resourceSliceCount: 1 },
        devices: Array.from({ length: DEVICES }, (_, index) => ({ name: `gpu-${index}` })),
      },
    }),
  );
  const exactly = { deviceClassName: "gpu", allocationMode: "ExactCount" as const };
  const wanted = new WantedDevicesReader({ deviceClasses }).read(
    build(resourceClaimKind, {
      metadata: { name: "c" },
      spec: {
        devices: {
          requests: [
            { name: "eight", exactly: { ...exactly, count: 8 } },
            { name: "more", exactly: { ...exactly, count: more } },
          ],
        },
      },
    }),
  );
  assert.notEqual(typeof wanted, "string");
  if (typeof wanted === "string") throw new Error(wanted);
  let clockMs = 0;
  let asked = 0;
  const devices = new PoolIndex(slices, () => undefined).forNode(
    build(nodeKind, { metadata: { name: "n1" } }),
  );
  const result = allocateDevices([wanted], {
    ...devices,
    inUse: { has: () => false, consumed: () => undefined },
    matches: () => {
      asked += 1;
      return true;
    },
    nowMs: () => {
      clockMs += stepMs;
      return clockMs;
    },
    timeoutMs,
  });
  return { result, asked };
}

describe("allocator: bounds of the search", () => {
  test("a search that takes longer than its time is unfinished", () => {
    assert.equal(search(10_000, 1_000).result, "unfinished");
  });

  test("a search of too many steps is unfinished, whatever its time", () => {
    assert.equal(search(Number.POSITIVE_INFINITY, 0).result, "unfinished");
  });

  test("whether a device matches is asked once for each request", () => {
    const { result, asked } = search(Number.POSITIVE_INFINITY, 0, DEVICES - 8);
    assert.equal(typeof result === "object" && result[0]?.length, DEVICES);
    assert.equal(asked, 2 * DEVICES);
  });

  test("a request for more devices than there are is refused without a search", () => {
    const { result } = search(0, 1, DEVICES + 1);
    assert.equal(result, undefined);
  });
});
