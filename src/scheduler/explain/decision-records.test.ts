import assert from "node:assert/strict";
import { test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { Decision } from "#scheduler/cycle/decide-node.ts";
import { type Rejected, rejected } from "#scheduler/plugin.ts";
import { createQueuedPod } from "#scheduler/queue/queued-pod.ts";
import { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { build, type Draft } from "#testing/build.ts";
import { DecisionRecords } from "./decision-records.ts";

const PODS_MAX = 10_000;
const ATTEMPTS_MAX = 5;

const queued = (name: string, spec: Draft<Pod["spec"]> = {}) =>
  createQueuedPod(new PodInfo(build(podKind, { metadata: { name }, spec })), 0, 0);

function refused(verdicts: ReadonlyMap<NodeInfo, Rejected> = new Map()): Decision {
  return {
    ...{ outcome: "none", message: "no", rejections: new Map(), nomination: undefined },
    diagnosis: {
      ...{ nodeCount: verdicts.size, verdicts, absent: undefined },
      ...{ preFilterMessage: undefined, plugins: new Set<string>() },
    },
  };
}

test("decision records: the pod that was tried longest ago goes first, and the oldest attempts", () => {
  const records = new DecisionRecords(new VirtualClock(0));
  for (let i = 0; i < PODS_MAX; i++) records.add(queued(`p${i}`), refused());
  records.add(queued("p0"), refused());
  records.add(queued("new"), refused());
  assert.equal(records.of("default", "p1"), undefined);
  assert.equal(records.of("default", "p0")?.attempts.length, 2);
  for (let attempt = 1; attempt <= ATTEMPTS_MAX + 3; attempt++) {
    records.add({ ...queued("new"), attempts: attempt }, refused());
  }
  const kept = records.of("default", "new")?.attempts.map(({ attempt }) => attempt);
  assert.deepEqual(kept, [4, 5, 6, 7, 8]);
});

test("decision records: the nearest miss leaves out resources for which devices may stand", () => {
  const node = (name: string, cpu: string): NodeInfo => {
    const draft: Draft<Node> = { metadata: { name }, status: { allocatable: { cpu, pods: "9" } } };
    const info = new NodeInfo(name);
    info.setNode(build(nodeKind, draft));
    return info;
  };
  const requests = { cpu: "4", "example.com/gpu": "1" };
  const pod = queued("p", { containers: [{ name: "c", resources: { requests } }] });
  const missOf = (reasons: readonly string[]) => {
    const records = new DecisionRecords(new VirtualClock(0));
    const verdict = rejected(...reasons);
    const verdicts = new Map([
      [node("small", "1"), verdict],
      [node("large", "3"), verdict],
    ]);
    records.add(pod, refused(verdicts));
    const { outcome } = records.of("default", "p")!.attempts[0]!;
    const miss = outcome.kind === "none" ? outcome.nearestMiss : undefined;
    return [miss?.node, miss?.shortages.map(({ resource, free }) => `${resource} ${free}`)];
  };
  assert.deepEqual(missOf(["Insufficient cpu"]), ["large", ["cpu 3000"]]);
  assert.deepEqual(missOf(["Insufficient cpu", "Insufficient example.com/gpu"]), [
    "large",
    ["cpu 3000", "example.com/gpu 0"],
  ]);
});
