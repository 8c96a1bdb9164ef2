import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { admitWith, type Loose, loosePod as pod } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";

describe("NamespaceLifecycle", () => {
  const objects = new MemoryObjects();
  objects.put(namespaceKind, { metadata: { name: "ns" }, spec: {}, status: { phase: "Active" } });
  objects.put(namespaceKind, {
    metadata: { name: "end" },
    spec: {},
    status: { phase: "Terminating" },
  });
  const message = async (changes: Loose, kind = podKind as never, subject = pod()) =>
    (await admitWith(namespaceLifecycle, kind, subject, { objects, ...changes })).status?.message;

  test("lets objects into a namespace that is there", async () => {
    assert.equal(await message({}), undefined);
  });
  test("refuses those of a namespace that is not", async () => {
    assert.equal(await message({ namespace: "x" }), 'namespaces "x" not found');
  });
  test("a terminating namespace refuses creates, and allows updates", async () => {
    assert.equal(
      await message({ namespace: "end" }),
      'pods "p" is forbidden: unable to create new content in namespace end because it is being terminated',
    );
    assert.equal(await message({ namespace: "end", operation: "UPDATE" }), undefined);
  });
  test("keeps the namespaces of the system", async () => {
    const kind = namespaceKind as never;
    const deletion = { operation: "DELETE", name: "kube-system", namespace: "kube-system" };
    assert.equal(
      await message(deletion, kind),
      'namespaces "kube-system" is forbidden: this namespace may not be deleted',
    );
  });
});
