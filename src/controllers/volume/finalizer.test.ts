import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { volumeAttributesClassKind } from "#api/kinds/storage/v1/volume-attributes-class.ts";
import type { Controller } from "#runtime/controller.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { attributesClassProtection } from "./attributes-class-protection.ts";
import { claimProtection } from "./claim-protection.ts";
import type { Protected } from "./finalizer.ts";
import { volumeProtection } from "./volume-protection.ts";

const OURS = "ours";

const rows: {
  name: string;
  held: readonly string[];
  going?: boolean;
  used: boolean;
  /** What it is held by then; undefined: nothing is written. */
  want?: readonly string[];
}[] = [
  { name: "a new object gets the finalizer", held: ["x"], used: false, want: ["x", OURS] },
  { name: "an object that has the finalizer and is used keeps it", held: [OURS], used: true },
  { name: "an object that has the finalizer and is not used keeps it", held: [OURS], used: false },
  {
    name: "a deleted object that is in use keeps the finalizer",
    held: [OURS],
    going: true,
    used: true,
  },
  {
    name: "a deleted object that is no longer in use loses the finalizer",
    held: [OURS, "x"],
    going: true,
    used: false,
    want: ["x"],
  },
  {
    name: "a deleted object without the finalizer does not get it",
    held: [],
    going: true,
    used: true,
  },
  { name: "a deleted object keeps finalizers of others", held: ["x"], going: true, used: false },
];

function rowsOf<T extends KubeObject>(
  controller: Controller<Protected<T> | undefined>,
  kind: KindOf<T>,
  finalizer: string,
): void {
  const named = (names: readonly string[]) => names.map((n) => (n === OURS ? finalizer : n));
  describe(`finalizer of ${controller.name}`, () => {
    for (const { name, held, going, used, want } of rows) {
      test(name, () => {
        const deletionTimestamp = "2030-01-01T00:00:00Z";
        const object = build<KubeObject>(kind, {
          metadata: {
            name: "v",
            finalizers: named(held),
            ...(going ? { deletionTimestamp } : {}),
          },
        }) as T;
        const outcome = controller.decide({ object, used }, 0);
        const writes = want === undefined ? [] : [`update ${kind.names.kind} v`];
        assert.deepEqual(describeOutcome(outcome), { writes });
        assert.deepEqual(written(outcome, kind)?.metadata.finalizers, want && named(want));
      });
    }
    test("volume protection: gone", () => assert.deepEqual(controller.decide(undefined, 0), {}));
  });
}

rowsOf(volumeProtection, persistentVolumeKind, "kubernetes.io/pv-protection");
rowsOf(claimProtection, persistentVolumeClaimKind, "kubernetes.io/pvc-protection");
rowsOf(attributesClassProtection, volumeAttributesClassKind, "kubernetes.io/vac-protection");
