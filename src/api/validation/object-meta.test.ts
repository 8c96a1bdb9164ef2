import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ObjectMeta } from "#api/generated/meta.v1.ts";
import { nameIsDnsSubdomain } from "./names.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "./object-meta.ts";
import { Path } from "./path.ts";

const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };

const creates: readonly {
  name: string;
  meta: ObjectMeta;
  faults: [field: string, text: string][];
}[] = [
  { name: "name and namespace are enough", meta: { name: "a", namespace: "n" }, faults: [] },
  {
    name: "name and namespace are required",
    meta: {},
    faults: [
      ["metadata.name", "name or generateName is required"],
      ["metadata.namespace", ""],
    ],
  },
  {
    name: "a negative generation is refused",
    meta: { name: "a", namespace: "n", generation: -1 },
    faults: [["metadata.generation", "must be greater than or equal to 0"]],
  },
  {
    name: "ownerReferences: two controllers and empty fields are refused",
    meta: {
      name: "a",
      namespace: "n",
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, name: "q", controller: true },
        { apiVersion: "", kind: "", name: "", uid: "" },
        { ...owner, kind: "Event" },
      ],
    },
    faults: [
      [
        "metadata.ownerReferences",
        'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q',
      ],
      ["metadata.ownerReferences.apiVersion", "version must not be empty"],
      ["metadata.ownerReferences.kind", "must not be empty"],
      ["metadata.ownerReferences.name", "must not be empty"],
      ["metadata.ownerReferences.uid", "must not be empty"],
      ["metadata.ownerReferences", "/v1, Kind=Event is disallowed from being an owner"],
    ],
  },
  {
    name: "both garbage collection finalizers",
    meta: { name: "a", namespace: "n", finalizers: ["orphan", "foregroundDeletion"] },
    faults: [["metadata.finalizers", "finalizer orphan and foregroundDeletion cannot be both set"]],
  },
  {
    name: "managedFields: unknown operations and types and bad managers are refused",
    meta: {
      name: "a",
      namespace: "n",
      managedFields: [{ manager: "a\u0007b", operation: "Delete", fieldsType: "V2" }],
    },
    faults: [
      ["metadata.managedFields[0].operation", "must be `Apply` or `Update`"],
      ["metadata.managedFields[0].fieldsType", "must be `FieldsV1`"],
      ["metadata.managedFields[0].manager", "invalid character U+0007 (at position 1)"],
    ],
  },
  {
    name: "annotations too large",
    meta: { name: "a", namespace: "n", annotations: { a: "x".repeat(256 * 1024) } },
    faults: [["metadata.annotations", "may not be more than 262144 bytes"]],
  },
];

describe("validateObjectMeta of a new object", () => {
  for (const { name, meta, faults } of creates) {
    test(name, () => {
      const rules = { namespaced: true, nameRule: nameIsDnsSubdomain };
      const errors = validateObjectMeta(meta, rules, Path.of("metadata"));
      assert.deepEqual(
        errors.map(({ field, detail }) => [field, detail]),
        faults,
      );
    });
  }

  test("a cluster-wide object has no namespace", () => {
    const rules = { namespaced: false, nameRule: nameIsDnsSubdomain };
    const meta = { name: "a", namespace: "n" };
    const [error] = validateObjectMeta(meta, rules, Path.of("metadata"));
    assert.equal(error?.detail, "not allowed on this type");
  });
});

const base: ObjectMeta = {
  name: "a",
  namespace: "n",
  uid: "u",
  resourceVersion: "1",
  generation: 2,
};

const updates: readonly {
  name: string;
  next: ObjectMeta;
  old?: ObjectMeta;
  faults: [field: string, text: string][];
}[] = [
  { name: "unchanged metadata is accepted", next: base, faults: [] },
  {
    name: "name, uid and creationTimestamp are immutable",
    next: { ...base, name: "b", uid: "v", creationTimestamp: "2030-01-01T00:00:00Z" },
    faults: [
      ["metadata.name", "field is immutable"],
      ["metadata.uid", "field is immutable"],
      ["metadata.creationTimestamp", "field is immutable"],
    ],
  },
  {
    name: "generation and resourceVersion",
    next: { ...base, generation: 1, resourceVersion: "" },
    faults: [
      ["metadata.resourceVersion", "must be specified for an update"],
      ["metadata.generation", "must not be decremented"],
    ],
  },
  {
    name: "no new finalizers while being deleted",
    next: { ...base, deletionTimestamp: "2030-01-01T00:00:00Z", finalizers: ["b", "a/b"] },
    old: { ...base, deletionTimestamp: "2030-01-01T00:00:00Z", finalizers: ["b"] },
    faults: [
      [
        "metadata.finalizers",
        'no new finalizers can be added if the object is being deleted, found new finalizers []string{"a/b"}',
      ],
    ],
  },
];

describe("validateObjectMetaUpdate", () => {
  for (const { name, next, old = base, faults } of updates) {
    test(name, () => {
      const errors = validateObjectMetaUpdate(next, old, Path.of("metadata"));
      assert.deepEqual(
        errors.map(({ field, detail }) => [field, detail]),
        faults,
      );
    });
  }
});
