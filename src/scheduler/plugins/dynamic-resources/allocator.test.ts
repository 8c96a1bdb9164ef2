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

/** 8 of 20 devices and one that no device can be: 125,970 choices lead nowhere. */
function hopeless(timeoutMs: number, stepMs: number) {
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
            { name: "none", exactly: { ...exactly, count: 1 } },
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
    matches: ({ name }) => {
      asked += 1;
      return name === "eight";
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
    const { result, asked } = hopeless(10_000, 1_000);
    assert.equal(result, "unfinished");
    assert.ok(asked < 10_000 * DEVICES, `${asked} devices were looked at`);
  });

  test("so is one of too many steps, however long it may take", () => {
    assert.equal(hopeless(Number.POSITIVE_INFINITY, 0).result, "unfinished");
  });
});
