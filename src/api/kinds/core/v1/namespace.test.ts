import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Namespace } from "#api/generated/core.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { namespaceKind } from "./namespace.ts";

describe("namespaces", () => {
  test("get a label, a phase and a finalizer", () => {
    const { object, faults } = runKind(namespaceKind, {
      object: { spec: { finalizers: ["a/b"] }, status: { phase: "Terminating" } },
    });
    const { metadata, spec, status } = object as Namespace;
    assert.deepEqual(faults, []);
    assert.deepEqual(metadata.labels, { "kubernetes.io/metadata.name": "x" });
    assert.deepEqual(spec, { finalizers: ["a/b", "kubernetes"] });
    assert.deepEqual(status, { phase: "Active" });
  });

  test("an update leaves finalizers and phase alone", () => {
    const { object } = runKind(namespaceKind, {
      object: { spec: {}, status: { phase: "Terminating" } },
      old: { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } },
    });
    const { spec, status } = object as Namespace;
    assert.deepEqual(spec, { finalizers: ["kubernetes"] });
    assert.deepEqual(status, { phase: "Active" });
  });

  const old = { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } };
  const rows = [
    {
      name: "a plain finalizer",
      write: { object: { spec: { finalizers: ["plain"] } } },
      faults: [
        'spec.finalizers: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified',
      ],
    },
    {
      name: "a plain finalizer of metadata",
      write: { object: { metadata: { finalizers: ["plain"] } } },
      faults: [
        'metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified',
      ],
    },
    {
      name: "a phase that does not fit",
      write: { object: { ...old, status: { phase: "Terminating" } }, old, subresource: "status" },
      faults: [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
      ],
    },
    {
      name: "a finalizer given to finalize",
      write: { object: { ...old, spec: { finalizers: ["x"] } }, old, subresource: "finalize" },
      faults: [
        'spec.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(namespaceKind, write).faults, faults));
  }

  test("can be selected by phase", () => {
    const { object } = runKind(namespaceKind, { object: {} });
    assert.deepEqual(namespaceKind.selectableFields?.(object), { "status.phase": "Active" });
  });
});
