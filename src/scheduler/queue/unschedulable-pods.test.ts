import assert from "node:assert/strict";
import { test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { createProfile } from "#scheduler/cycle/profile.ts";
import type { Plugin } from "#scheduler/plugin.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { build } from "#testing/build.ts";
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
  const object = build(podKind, { metadata: { name: uid, uid }, spec: { schedulerName: "s" } });
  const queued = createQueuedPod(new PodInfo(object), 0, 0);
  return { ...queued, rejectors: new Set(rejectors), gatedBy };
}

const metadata = (name: string) => ({ metadata: { name } });

const nodeAdded = (name: string): ClusterChange => ({
  ...{ event: "node-added", next: build(nodeKind, metadata(name)), old: undefined },
});

const claimAdded = (name: string): ClusterChange => ({
  event: "resource-claim-added",
  next: build(resourceClaimKind, metadata(name)),
  old: undefined,
});

const volumeAdded = (name: string): ClusterChange => ({
  event: "volume-added",
  next: build(persistentVolumeKind, metadata(name)),
  old: undefined,
});

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
  ["a change that one plugin has a rule for", nodeAdded("x"), ["any", "both", "error", "n"]],
  ["a change that names a rejected pod", claimAdded("c1"), ["any", "c1", "error"]],
  ["a change that names a gated pod", claimAdded("c2"), ["any", "c2", "error"]],
  ["a change without a rule", volumeAdded("x"), ["any", "error"]],
])("unschedulable pods concerned by %s", (_name, about, wanted) => {
  assert.deepEqual(concerned(world(), about), wanted);
});

test("a pod whose rejectors change is found by the new ones only", () => {
  const pods = world();
  const moved = { ...pods.get("n")!, rejectors: new Set(["ByClaim"]) };
  pods.set("n", moved);
  assert.deepEqual(concerned(pods, nodeAdded("x")), ["any", "both", "error"]);
  assert.equal(pods.size, 7);
  assert.equal(pods.gatedCount, 2);
  pods.delete("c2");
  pods.delete("n");
  assert.equal(pods.size, 5);
  assert.equal(pods.gatedCount, 1);
});
