import assert from "node:assert/strict";
import { test } from "vitest";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { defaultStorageClass } from "./default-class.ts";

test("defaultStorageClass: a cluster without any StorageClass gets one, as the default", () => {
  const outcome = defaultStorageClass.decide(false, 0);
  assert.deepEqual(describeOutcome(outcome), { writes: ["create StorageClass standard"] });
  const made = written(outcome, storageClassKind)!;
  assert.deepEqual(
    [made.volumeBindingMode, made.reclaimPolicy, made.metadata.annotations],
    ["WaitForFirstConsumer", "Delete", { "storageclass.kubernetes.io/is-default-class": "true" }],
  );
  assert.deepEqual(describeOutcome(defaultStorageClass.decide(true, 0)), { writes: [] });
});
