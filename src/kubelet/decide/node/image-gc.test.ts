import assert from "node:assert/strict";
import { test } from "vitest";
import { decideImageGc, type ImageRecord } from "./image-gc.ts";

const MINUTE = 60_000;
const GIB = 1024 ** 3;
const policy = { highPercent: 85, lowPercent: 80, minimumAgeMs: 2 * MINUTE, maximumAgeMs: 0 };
const full = { capacityBytes: 100 * GIB, availableBytes: 10 * GIB };
const half = { capacityBytes: 100 * GIB, availableBytes: 50 * GIB };

const rows = [
  { name: "below the high threshold nothing is removed", disk: half, want: { age: [], space: [] } },
  {
    name: "above imageGCHighThresholdPercent the least recently used go until the low threshold",
    disk: full,
    want: { age: [], space: ["never", "old"] },
  },
  {
    name: "imageMaximumGCAge removes unused images whatever the disk says",
    disk: half,
    policy: { ...policy, maximumAgeMs: 90 * MINUTE },
    want: { age: ["never", "old"], space: [] },
  },
  {
    name: "imageMaximumGCAge waits until the kubelet has run that long",
    disk: half,
    policy: { ...policy, maximumAgeMs: 90 * MINUTE },
    beganMs: 150 * MINUTE,
    want: { age: [], space: [] },
  },
  {
    name: "imageMinimumGCAge keeps images that were just pulled",
    disk: full,
    policy: { ...policy, minimumAgeMs: 1000 * MINUTE },
    want: { age: [], space: [] },
  },
];

const images: ImageRecord[] = [
  image("recent", { lastUsedMs: 199 * MINUTE }),
  image("old", { lastUsedMs: 100 * MINUTE }),
  image("never", { firstSeenMs: 1 }),
  image("used", { isInUse: true, lastUsedMs: 200 * MINUTE }),
  image("pause", { isPinned: true }),
];

for (const { name, disk, want, beganMs = 0, ...row } of rows) {
  test(`image garbage collection: ${name}`, () => {
    const inputs = { images, policy: row.policy ?? policy, disk, nowMs: 200 * MINUTE, beganMs };
    const { removeForAge, removeForSpace } = decideImageGc(inputs);
    assert.deepEqual(
      { age: removeForAge.map(({ id }) => id), space: removeForSpace.map(({ id }) => id) },
      want,
    );
  });
}

function image(id: string, more: Partial<ImageRecord>): ImageRecord {
  return {
    ...{ id, sizeBytes: 5 * GIB, isPinned: false, isInUse: false, firstSeenMs: 2, lastUsedMs: 0 },
    ...more,
  };
}
