import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { priorityClassKind } from "#api/kinds/scheduling/v1/priority-class.ts";
import {
  admitWith,
  type Loose,
  looseObject as object,
  loosePod as pod,
  specOf,
} from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { priority } from "./priority.ts";

describe("Priority", () => {
  const objects = new MemoryObjects();
  objects.put(
    priorityClassKind,
    object("high", { value: 10, preemptionPolicy: "Never" }, { namespace: "" }),
  );
  const admit = (spec: Loose, changes: Loose = {}) =>
    admitWith(priority, podKind, pod(spec), { objects, ...changes });

  test("a pod without priorityClassName has priority 0", async () => {
    const { priority: value, preemptionPolicy } = specOf(await admit({}));
    assert.deepEqual([value, preemptionPolicy], [0, "PreemptLowerPriority"]);
  });
  test("priorityClassName sets the priority of the class", async () => {
    const spec = specOf(await admit({ priorityClassName: "high" }));
    assert.deepEqual([spec.priority, spec.preemptionPolicy], [10, "Never"]);
  });
  test("a priority that differs from the class is refused", async () => {
    assert.equal(
      (await admit({ priorityClassName: "high", priority: 5 })).status?.message,
      'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; ' +
        "priority admission controller computed 10 from the given PriorityClass name",
    );
  });
  test("an unknown priorityClassName is refused", async () => {
    assert.equal(
      (await admit({ priorityClassName: "x" })).status?.message,
      'pods "p" is forbidden: no PriorityClass with name x was found',
    );
  });
  test("an update without priority keeps it", async () => {
    assert.equal(specOf(await admit({}, { old: pod({ priority: 7 }) })).priority, 7);
  });
  test("a second globalDefault PriorityClass is refused", async () => {
    const two = new MemoryObjects();
    two.put(priorityClassKind, object("a", { value: 1, globalDefault: true }));
    const second = object("b", { value: 2, globalDefault: true });
    const { status } = await admitWith(priority, priorityClassKind, second, { objects: two });
    assert.equal(
      status?.message,
      'priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass a is already marked as ' +
        "default. Only one default can exist",
    );
  });
});
