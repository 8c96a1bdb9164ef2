import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { persistentVolumeKind } from "#api/core/v1/persistent-volume/persistent-volume.ts";
import type { PersistentVolume } from "#api/generated/core.v1.ts";
import { build } from "#testing/build.ts";
import { tell, written } from "#testing/decisions.ts";
import { volumeProtection } from "./volume-protection.ts";

const OURS = "kubernetes.io/pv-protection";
const UPDATE = ["update PersistentVolume v"];

function volume(finalizers: readonly string[], isGoing = false): PersistentVolume {
  const deletionTimestamp = "2030-01-01T00:00:00Z";
  return build(persistentVolumeKind, {
    metadata: { name: "v", finalizers, ...(isGoing ? { deletionTimestamp } : {}) },
  });
}

const rows: {
  name: string;
  object: PersistentVolume;
  used: boolean;
  want: readonly string[];
  finalizers?: readonly string[];
}[] = [
  {
    name: "a new one is held",
    object: volume(["x"]),
    used: false,
    want: UPDATE,
    finalizers: ["x", OURS],
  },
  { name: "one that is held", object: volume([OURS]), used: true, want: [] },
  { name: "going, in use", object: volume([OURS], true), used: true, want: [] },
  {
    name: "going, no longer in use",
    object: volume([OURS, "x"], true),
    used: false,
    want: UPDATE,
    finalizers: ["x"],
  },
  { name: "going, never held", object: volume([], true), used: true, want: [] },
];

describe("what is in use is held", () => {
  for (const { name, object, used, want, finalizers } of rows) {
    test(name, () => {
      const outcome = volumeProtection.decide({ object, used }, 0);
      assert.deepEqual(tell(outcome), { writes: want });
      assert.deepEqual(written(outcome, persistentVolumeKind)?.metadata.finalizers, finalizers);
    });
  }
  test("gone", () => assert.deepEqual(volumeProtection.decide(undefined, 0), {}));
});
