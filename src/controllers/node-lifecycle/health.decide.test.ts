import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Lease } from "#api/generated/coordination.v1.ts";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { nodeHealth } from "./health.ts";

const AT_MS = Date.parse("2030-01-01T00:00:00Z");
const health = nodeHealth({ gracePeriodMs: 50_000, startupGracePeriodMs: 60_000 });

function node(
  ready: "True" | "False" | "Unknown" | undefined,
  taints: readonly string[] = [],
): Node {
  const time = "2030-01-01T00:00:00Z";
  return build(nodeKind, {
    metadata: { name: "n", creationTimestamp: time },
    spec: { taints: taints.map((key) => ({ key, effect: "NoSchedule" as const })) },
    status: {
      conditions:
        ready === undefined
          ? []
          : [{ type: "Ready", status: ready, lastHeartbeatTime: time, lastTransitionTime: time }],
    },
  });
}

const lease = (atMs: number): Lease =>
  build(leaseKind, { metadata: { name: "n" }, spec: { renewTime: microTimeFromMs(atMs) } });

const pod: Pod = build(podKind, {
  metadata: { name: "p" },
  spec: { nodeName: "n", containers: [{ name: "c" }] },
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
});

/** What it says after a first look at the start and a second one later. */
function look(of: Node, first: Lease | undefined, second: Lease | undefined, afterMs: number) {
  const state = { name: "n", node: of, lease: first, pods: [], known: undefined };
  const { remember } = health.decide(state, AT_MS);
  const known = remember as (typeof state)["known"];
  const pods = of.status.conditions?.[0]?.status === "Unknown" ? [pod] : [];
  return health.decide({ ...state, lease: second, pods, known }, AT_MS + afterMs);
}

describe("the health of a node", () => {
  const UNREACHABLE = "node.kubernetes.io/unreachable";
  const rows: {
    name: string;
    node: Node;
    lease?: Lease;
    afterMs: number;
    want: OutcomeText;
    ready?: string;
  }[] = [
    {
      name: "a node with a heartbeat in time is left alone",
      node: node("True"),
      afterMs: 50_000,
      want: { writes: [], recheckInMs: 1 },
    },
    {
      name: "silent for too long",
      node: node("True"),
      afterMs: 50_001,
      want: { writes: ["update Node n/status"] },
      ready: "Unknown NodeStatusUnknown Kubelet stopped posting node status.",
    },
    {
      name: "a lease that is renewed is a heartbeat",
      node: node("True"),
      lease: lease(AT_MS + 40_000),
      afterMs: 50_001,
      want: { writes: [], recheckInMs: 50_001 },
    },
    {
      name: "a new one has more time",
      node: node(undefined),
      afterMs: 60_000,
      want: { writes: [], recheckInMs: 1 },
    },
    {
      name: "a node that never reported becomes Unknown (NodeStatusNeverUpdated)",
      node: node(undefined),
      afterMs: 60_001,
      want: { writes: ["update Node n/status"] },
      ready: "Unknown NodeStatusNeverUpdated Kubelet never posted node status.",
    },
    {
      name: "a lost one gets its taint, and its pods are no longer ready",
      node: node("Unknown"),
      afterMs: 50_001,
      want: { writes: ["update Node n", "update Pod p/status"] },
    },
    {
      name: "a ready node loses the taint unreachable",
      node: node("True", [UNREACHABLE]),
      afterMs: 1_000,
      want: { writes: ["update Node n"], recheckInMs: 49_001 },
    },
  ];
  for (const { name, node: of, lease: later, afterMs, want, ready } of rows) {
    test(name, () => {
      const outcome = look(of, undefined, later, afterMs);
      assert.deepEqual(describeOutcome({ ...outcome, events: [] }), want);
      if (ready === undefined) return;
      const conditions = written(outcome, nodeKind)?.status.conditions ?? [];
      const condition = conditions.find(({ type }) => type === "Ready");
      assert.equal(`${condition?.status} ${condition?.reason} ${condition?.message}`, ready);
    });
  }

  test("Events RegisteredNode and RemovingNode are recorded", () => {
    const state = { name: "n", node: node("True"), lease: undefined, pods: [], known: undefined };
    const first = health.decide(state, AT_MS);
    assert.deepEqual(describeOutcome(first).events, [
      "Normal RegisteredNode: Node n event: Registered Node n in Controller",
    ]);
    const known = first.remember as (typeof state)["known"];
    const gone = health.decide({ ...state, node: undefined, known }, AT_MS);
    assert.deepEqual(describeOutcome(gone).events, [
      "Normal RemovingNode: Node n event: Removing Node n from Controller",
    ]);
    assert.ok("remember" in gone && gone.remember === undefined);
  });
});
