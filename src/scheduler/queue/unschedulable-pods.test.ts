import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { createProfile } from "#scheduler/cycle/profile.ts";
import type { Plugin } from "#scheduler/plugin.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { createQueuedPod, type QueuedPod } from "./queued-pod.ts";
import { UnschedulablePods } from "./unschedulable-pods.ts";
import type { ClusterChange } from "./wake-decision.ts";

const PLUGINS: readonly Plugin[] = [
  { name: "ByNode", wakeOn: [{ event: "node-added" }] },
  {
    name: "ByClaim",
    wakeOn: [{ event: "resource-claim-added", affects: ({ metadata }) => [metadata.name ?? ""] }],
  },
  { name: "ByAnything" },
];
const PROFILE = createProfile("s", () => PLUGINS.map((plugin) => ({ plugin, weight: 1 })));

function pod(uid: string, rejectors: readonly string[], gatedBy?: string): QueuedPod {
  const object = { metadata: { name: uid, uid }, spec: { schedulerName: "s", containers: [] } };
  const queued = createQueuedPod(new PodInfo(object as unknown as Pod), 0, 0);
  return { ...queued, rejectors: new Set(rejectors), gatedBy };
}

function change(event: string, name: string): ClusterChange {
  return { event, next: { metadata: { name } }, old: undefined } as unknown as ClusterChange;
}

function world(): UnschedulablePods {
  const pods = new UnschedulablePods();
  pods.set("n", pod("n", ["ByNode"]));
  pods.set("c1", pod("c1", ["ByClaim"]));
  pods.set("c2", pod("c2", [], "ByClaim"));
  pods.set("both", pod("both", ["ByNode", "ByClaim"]));
  pods.set("any", pod("any", ["ByAnything"]));
  pods.set("held", pod("held", [], "ByAnything"));
  pods.set("error", pod("error", []));
  return pods;
}

function concerned(pods: UnschedulablePods, about: ClusterChange): readonly string[] {
  return pods
    .concernedBy(about, () => PROFILE)
    .map(({ info }) => info.uid)
    .toSorted();
}

test.each([
  ["a change that one plugin has a rule for", "node-added", "x", ["any", "both", "error", "n"]],
  ["a change that names a rejected pod", "resource-claim-added", "c1", ["any", "c1", "error"]],
  ["a change that names a gated pod", "resource-claim-added", "c2", ["any", "c2", "error"]],
  ["a change without a rule", "volume-added", "x", ["any", "error"]],
])("unschedulable pods concerned by %s", (_name, event, object, wanted) => {
  assert.deepEqual(concerned(world(), change(event, object)), wanted);
});

test("a pod whose rejectors change is found by the new ones only", () => {
  const pods = world();
  const moved = { ...pods.get("n")!, rejectors: new Set(["ByClaim"]) };
  pods.set("n", moved);
  assert.deepEqual(concerned(pods, change("node-added", "x")), ["any", "both", "error"]);
  assert.equal(pods.size, 7);
  assert.equal(pods.gatedCount, 2);
  pods.delete("c2");
  pods.delete("n");
  assert.equal(pods.size, 5);
  assert.equal(pods.gatedCount, 1);
});
