import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText } from "#testing/decisions.ts";
import { createPodGarbageCollector, type PodGarbageState } from "./pod-garbage-collector.ts";

const NOW = "2030-01-01T01:00:00Z";
const NOW_MS = Date.parse(NOW);
const collector = createPodGarbageCollector(0);

function pod(name: string, phase: string, facts: { nodeName?: string; going?: number } = {}): Pod {
  const { nodeName, going } = facts;
  return build(podKind, {
    metadata: {
      name,
      creationTimestamp: `2030-01-01T00:0${name.length}:00Z`,
      ...(going === undefined ? {} : { deletionTimestamp: NOW, deletionGracePeriodSeconds: going }),
    },
    spec: { containers: [{ name: "c" }], ...(nodeName === undefined ? {} : { nodeName }) },
    status: { phase },
  });
}

function node(ready: "True" | "Unknown", taint?: string): Node {
  return build(nodeKind, {
    metadata: { name: "n" },
    spec: { taints: taint === undefined ? [] : [{ key: taint, effect: "NoExecute" }] },
    status: { conditions: [{ type: "Ready", status: ready }] },
  });
}

const OUT = "node.kubernetes.io/out-of-service";
const FAIL_AND_DELETE = { writes: ["patch Pod a/status", "delete Pod a"] };
const NOTHING: OutcomeText = { writes: [] };

const rows: { name: string; state: PodGarbageState; want: OutcomeText }[] = [
  { name: "a state without pods needs nothing", state: { about: "nothing" }, want: NOTHING },
  {
    name: "a pod that was deleted before it had a node is failed and deleted",
    state: { about: "pod", pod: pod("a", "Pending", { going: 30 }), node: undefined },
    want: FAIL_AND_DELETE,
  },
  {
    name: "being deleted without grace, before it had a node: left to the server for two seconds",
    state: { about: "pod", pod: pod("a", "Pending", { going: 0 }), node: undefined },
    want: { writes: [], recheckInMs: 2_000 },
  },
  {
    name: "waiting for a node",
    state: { about: "pod", pod: pod("a", "Pending"), node: undefined },
    want: NOTHING,
  },
  {
    name: "going, on a node out of service",
    state: {
      about: "pod",
      pod: pod("a", "Running", { nodeName: "n", going: 30 }),
      node: node("Unknown", OUT),
    },
    want: FAIL_AND_DELETE,
  },
  {
    name: "going, on a node that is said to be out of service but lives",
    state: {
      about: "pod",
      pod: pod("a", "Running", { nodeName: "n", going: 30 }),
      node: node("True", OUT),
    },
    want: NOTHING,
  },
  {
    name: "going, on a healthy node",
    state: {
      about: "pod",
      pod: pod("a", "Running", { nodeName: "n", going: 30 }),
      node: node("True"),
    },
    want: NOTHING,
  },
  {
    name: "ended and forced already: only a finalizer holds it",
    state: { about: "pod", pod: pod("a", "Failed", { going: 0 }), node: undefined },
    want: NOTHING,
  },
  {
    name: "a node just found missing is given time",
    state: { about: "missing-node", pods: [pod("a", "Running")], sinceMs: undefined },
    want: { writes: [], recheckInMs: 40_000 },
  },
  {
    name: "a pod of a missing node is looked at again when 40 seconds have passed",
    state: { about: "missing-node", pods: [pod("a", "Running")], sinceMs: NOW_MS - 39_999 },
    want: { writes: [], recheckInMs: 1 },
  },
  {
    name: "after 40 seconds pods of a missing node are failed and deleted; ended ones are only deleted",
    state: {
      about: "missing-node",
      pods: [pod("a", "Running"), pod("bb", "Succeeded")],
      sinceMs: NOW_MS - 40_000,
    },
    want: { writes: ["patch Pod a/status", "delete Pod a", "delete Pod bb"] },
  },
  {
    name: "ended pods beyond the limit, the oldest first",
    state: {
      about: "ended",
      pods: [pod("ccc", "Failed"), pod("a", "Failed"), pod("bb", "Succeeded")],
      threshold: 1,
    },
    want: { writes: ["delete Pod a", "delete Pod bb"] },
  },
  {
    name: "threshold 0 keeps ended pods",
    state: { about: "ended", pods: [pod("a", "Failed")], threshold: 0 },
    want: NOTHING,
  },
];

describe("pod garbage collector", () => {
  for (const { name, state, want } of rows) {
    test(name, () => assert.deepEqual(describeOutcome(collector.decide(state, NOW_MS)), want));
  }

  test("the time since when a node is missing is remembered until it is back", () => {
    const state = { about: "missing-node", pods: [], sinceMs: undefined } as const;
    assert.equal(collector.decide(state, NOW_MS).remember, NOW_MS);
    const later = { ...state, sinceMs: NOW_MS };
    assert.equal(collector.decide(later, NOW_MS + 5).remember, NOW_MS);
    assert.deepEqual(collector.decide({ about: "nothing" }, NOW_MS), { remember: undefined });
  });
});
