import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { admitWith, looseObject as object } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { persistentVolumeClaimResize } from "./claim-resize.ts";

describe("PersistentVolumeClaimResize", () => {
  const claim = (storage: string, phase = "Bound", storageClassName = "s"): never =>
    object("c", {
      spec: { storageClassName, resources: { requests: { storage } } },
      status: { phase },
    });
  const objects = new MemoryObjects();
  objects.put(storageClassKind, object("s", { allowVolumeExpansion: true }, { namespace: "" }));
  const message = async (next: never, old: never) =>
    (
      await admitWith(persistentVolumeClaimResize, persistentVolumeClaimKind, next, {
        objects,
        old,
      })
    ).status?.message;

  test("PersistentVolumeClaimResize: bound claims of a class with allowVolumeExpansion can grow", async () => {
    assert.equal(await message(claim("2Gi"), claim("1Gi")), undefined);
  });
  test("claims that are not bound, or whose class does not allow it, cannot be expanded", async () => {
    assert.match(
      (await message(claim("2Gi"), claim("1Gi", "Pending"))) ?? "",
      /Only bound persistent volume claims can be expanded/,
    );
    assert.match(
      (await message(claim("2Gi", "Bound", "x"), claim("1Gi", "Bound", "x"))) ?? "",
      /the storageclass that provisions the pvc must support resize/,
    );
  });
});
