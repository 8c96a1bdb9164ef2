import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { runtimeClassKind } from "#api/kinds/node/v1/runtime-class.ts";
import {
  admitWith,
  type Loose,
  looseObject as object,
  loosePod as pod,
  specOf,
} from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { runtimeClass } from "./runtime-class.ts";

describe("RuntimeClass", () => {
  const objects = new MemoryObjects();
  objects.put(
    runtimeClassKind,
    object(
      "vm",
      {
        handler: "h",
        overhead: { podFixed: { memory: "64Mi" } },
        scheduling: {
          nodeSelector: { kvm: "yes" },
          tolerations: [{ key: "kvm", operator: "Exists" }],
        },
      },
      { namespace: "" },
    ),
  );
  const admit = (spec: Loose) => admitWith(runtimeClass, podKind, pod(spec), { objects });

  test("adds overhead and scheduling", async () => {
    const spec = specOf(await admit({ runtimeClassName: "vm", nodeSelector: { a: "b" } }));
    assert.deepEqual(spec.overhead, { memory: "64Mi" });
    assert.deepEqual(spec.nodeSelector, { a: "b", kvm: "yes" });
    assert.deepEqual(spec.tolerations, [{ key: "kvm", operator: "Exists" }]);
  });
  const refusals: [string, Loose, string][] = [
    ["no such class", { runtimeClassName: "x" }, 'pod rejected: RuntimeClass "x" not found'],
    [
      "another overhead",
      { runtimeClassName: "vm", overhead: { memory: "1Mi" } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      "overhead without a class",
      { overhead: { memory: "1Mi" } },
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ],
    [
      "another node",
      { runtimeClassName: "vm", nodeSelector: { kvm: "no" } },
      "conflict: runtimeClass.scheduling.nodeSelector[kvm] = yes; pod.spec.nodeSelector[kvm] = no",
    ],
  ];
  test("an invalid runtimeClassName is a server error", async () => {
    const { status } = await admit({ runtimeClassName: "" });
    assert.deepEqual([status?.code, status?.message], [500, "resource name may not be empty"]);
  });
  for (const [name, spec, why] of refusals) {
    test(`refuses ${name}`, async () => {
      assert.equal((await admit(spec)).status?.message, `pods "p" is forbidden: ${why}`);
    });
  }
});
