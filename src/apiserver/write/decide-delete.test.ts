import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { DeletionRules } from "#api/deletion-rules.ts";
import type { DeleteOptions } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { decideDelete } from "./decide-delete.ts";

const NOW = Date.parse("2030-01-01T00:01:00Z");
const PLAIN: DeletionRules<KubeObject> = { garbageCollection: "delete", returnsObject: false };
const ORPHANS: DeletionRules<KubeObject> = { garbageCollection: "orphan", returnsObject: false };
const NO_GC: DeletionRules<KubeObject> = { garbageCollection: "unsupported", returnsObject: false };
const GRACE: DeletionRules<KubeObject> = {
  garbageCollection: "delete",
  returnsObject: true,
  graceSeconds: (_, asked) => asked ?? 30,
};

interface Case {
  readonly name: string;
  readonly meta?: KubeObject["metadata"];
  readonly options?: DeleteOptions;
  readonly rules?: DeletionRules<KubeObject>;
  readonly action: string;
  readonly left?: Partial<KubeObject["metadata"]>;
}

const AT = (seconds: number): string =>
  new Date(NOW + seconds * 1000).toISOString().replace(".000", "");

const cases: Case[] = [
  { name: "an object without finalizers is removed", action: "remove" },
  {
    name: "a finalizer keeps the object; deletionTimestamp is set and the generation raised",
    meta: { finalizers: ["x/y"], generation: 3 },
    action: "mark",
    left: { generation: 4, deletionTimestamp: AT(0), deletionGracePeriodSeconds: 0 },
  },
  {
    name: "a second delete does not raise the generation",
    meta: {
      finalizers: ["x/y"],
      generation: 4,
      deletionTimestamp: AT(-9),
      deletionGracePeriodSeconds: 0,
    },
    action: "mark",
    left: { generation: 4, deletionTimestamp: AT(-9) },
  },
  {
    name: "foreground deletion is a finalizer",
    options: { propagationPolicy: "Foreground" },
    action: "mark",
    left: { finalizers: ["foregroundDeletion"] },
  },
  {
    name: "orphanDependents adds the finalizer orphan",
    options: { orphanDependents: true },
    action: "mark",
    left: { finalizers: ["orphan"] },
  },
  {
    name: "a policy replaces the other's finalizer",
    meta: { finalizers: ["orphan", "x/y"] },
    options: { propagationPolicy: "Background" },
    action: "mark",
    left: { finalizers: ["x/y"] },
  },
  {
    name: "a kind may have orphan as its default propagation policy",
    rules: ORPHANS,
    action: "mark",
    left: { finalizers: ["orphan"] },
  },
  {
    name: "propagationPolicy Background overrides a default of orphan",
    rules: ORPHANS,
    options: { propagationPolicy: "Background" },
    action: "remove",
  },
  {
    name: "kinds that are not collected have no such finalizers",
    rules: NO_GC,
    options: { propagationPolicy: "Foreground" },
    action: "remove",
  },
  {
    name: "a grace period starts",
    rules: GRACE,
    meta: { generation: 1 },
    action: "mark",
    left: { deletionTimestamp: AT(30), deletionGracePeriodSeconds: 30, generation: 2 },
  },
  {
    name: "gracePeriodSeconds 0 marks the object, so that watches see it, and removes it",
    rules: GRACE,
    options: { gracePeriodSeconds: 0 },
    action: "mark-and-remove",
    left: { deletionGracePeriodSeconds: 0 },
  },
  {
    name: "a longer grace period is not granted later",
    rules: GRACE,
    meta: { deletionTimestamp: AT(20), deletionGracePeriodSeconds: 30 },
    options: { gracePeriodSeconds: 60 },
    action: "pending",
  },
  {
    name: "a shorter grace period counts from the first delete",
    rules: GRACE,
    meta: { deletionTimestamp: AT(25), deletionGracePeriodSeconds: 30 },
    options: { gracePeriodSeconds: 10 },
    action: "mark",
    left: { deletionTimestamp: AT(5), deletionGracePeriodSeconds: 10 },
  },
  {
    name: "a grace period that has run out leaves one second",
    rules: GRACE,
    meta: { deletionTimestamp: AT(5), deletionGracePeriodSeconds: 30 },
    options: { gracePeriodSeconds: 10 },
    action: "mark",
    left: { deletionTimestamp: AT(0), deletionGracePeriodSeconds: 1 },
  },
  {
    name: "a negative grace period is one second",
    rules: GRACE,
    options: { gracePeriodSeconds: -5 },
    action: "mark",
    left: { deletionGracePeriodSeconds: 1 },
  },
];

describe("decideDelete", () => {
  for (const { name, meta = {}, options = {}, rules = PLAIN, action, left = {} } of cases) {
    test(name, () => {
      const object = Object.freeze({ metadata: Object.freeze(meta) });
      const decision = decideDelete(object, options, rules, NOW);
      assert.equal(decision.action, action);
      const after = "object" in decision ? decision.object.metadata : {};
      for (const [field, value] of Object.entries(left)) {
        assert.deepEqual(after[field as keyof typeof after], value, field);
      }
    });
  }
});
