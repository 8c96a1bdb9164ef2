import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { DaemonSet, DaemonSetSpec, DaemonSetStatus } from "#api/generated/apps.v1.ts";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { daemonSetKind } from "#api/kinds/apps/v1/daemon-set.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { selectorFromLabels } from "#api/meta/label-selector.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, partLike, written } from "#testing/decisions.ts";
import { revisionData } from "../shared/revision-history.ts";
import { daemonSetController } from "./daemon-set.ts";
import type { Failures } from "./failures.ts";

const NOW = "2030-01-01T01:00:00Z";
const NOW_MS = Date.parse(NOW);
const LABELS = { app: "agent" };
const HASH = "controller-revision-hash";

function set(spec: Draft<DaemonSetSpec>): DaemonSet {
  const template = { metadata: { labels: LABELS }, spec: { containers: [{ name: "c" }] } };
  return build(daemonSetKind, {
    metadata: { name: "agent", generation: 1 },
    spec: { selector: { matchLabels: LABELS }, template, ...spec },
    status: { observedGeneration: 1 },
  });
}

const node = (name: string, taint?: string): Node =>
  build(nodeKind, {
    metadata: { name },
    spec: { taints: taint === undefined ? [] : [{ key: taint, effect: "NoSchedule" }] },
  });

interface Facts {
  readonly name: string;
  readonly on: string;
  readonly of?: "old" | "new";
  readonly phase?: string;
  readonly ready?: boolean;
  readonly created?: string;
}

function pod({ name, on, of = "new", phase = "Running", ready = true, created }: Facts): Pod {
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "uid-agent" };
  return build(podKind, {
    metadata: {
      name,
      creationTimestamp: created ?? "2030-01-01T00:30:00Z",
      labels: { ...LABELS, [HASH]: of },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: { nodeName: on, containers: [{ name: "c" }] },
    status: {
      phase,
      conditions: ready
        ? [{ type: "Ready", status: "True", lastTransitionTime: "2030-01-01T00:30:00Z" }]
        : [],
    },
  });
}

const refusedBefore: Failures = {
  of: "uid-agent/1",
  byNode: new Map([
    ["a", { uid: "uid-before", createdAtMs: 0, removableAtMs: NOW_MS - 60_000, delayMs: 8_000 }],
  ]),
};

const rows: {
  name: string;
  spec?: Draft<DaemonSetSpec>;
  nodes: readonly Node[];
  pods: readonly Facts[];
  failures?: Failures;
  /** Without the status. */
  want: readonly string[];
  events?: readonly string[];
  status?: Partial<DaemonSetStatus>;
  recheckInMs?: number;
}[] = [
  {
    name: "a pod is created for each node without one",
    nodes: [node("a"), node("b")],
    pods: [{ name: "x", on: "a" }],
    want: ["create Pod agent-"],
    status: { desiredNumberScheduled: 2, currentNumberScheduled: 1, numberReady: 1 },
  },
  {
    name: "no pod is created on a node whose taint is not tolerated",
    nodes: [node("a", "example.com/mine")],
    pods: [],
    want: [],
  },
  {
    name: "of two pods on a node the younger is deleted",
    nodes: [node("a")],
    pods: [
      { name: "young", on: "a", created: "2030-01-01T00:40:00Z" },
      { name: "old", on: "a" },
    ],
    want: ["delete Pod young"],
  },
  {
    name: "a failed pod is deleted (FailedDaemonPod)",
    nodes: [node("a")],
    pods: [{ name: "x", on: "a", phase: "Failed", ready: false, created: NOW }],
    want: ["delete Pod x"],
    events: [
      "Warning FailedDaemonPod: Found failed daemon pod default/x on node a, will try to kill it",
    ],
  },
  {
    name: "where others failed before, later each time",
    nodes: [node("a")],
    pods: [{ name: "x", on: "a", phase: "Failed", ready: false, created: NOW }],
    failures: refusedBefore,
    want: [],
    recheckInMs: 8_000,
  },
  {
    name: "a succeeded pod is deleted (SucceededDaemonPod)",
    nodes: [node("a")],
    pods: [{ name: "x", on: "a", phase: "Succeeded", ready: false }],
    want: ["delete Pod x"],
    events: [
      "Normal SucceededDaemonPod: Found succeeded daemon pod default/x on node a, will try to delete it",
    ],
  },
  {
    name: "an update takes one node at a time",
    nodes: [node("a"), node("b")],
    pods: [
      { name: "x", on: "a", of: "old" },
      { name: "y", on: "b", of: "old" },
    ],
    want: ["delete Pod x"],
  },
  {
    name: "an update waits while one is not ready",
    nodes: [node("a"), node("b")],
    pods: [
      { name: "x", on: "a", ready: false },
      { name: "y", on: "b", of: "old" },
    ],
    want: [],
  },
  {
    name: "with a surge the new one comes first",
    spec: {
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
      },
    },
    nodes: [node("a")],
    pods: [{ name: "x", on: "a", of: "old" }],
    want: ["create Pod agent-"],
  },
  {
    name: "maxSurge: the old pod is deleted when the new one is available",
    spec: {
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
      },
    },
    nodes: [node("a")],
    pods: [
      { name: "x", on: "a", of: "old" },
      { name: "y", on: "a" },
    ],
    want: ["delete Pod x"],
  },
  {
    name: "OnDelete: old pods are not replaced",
    spec: { updateStrategy: { type: "OnDelete" } },
    nodes: [node("a")],
    pods: [{ name: "x", on: "a", of: "old" }],
    want: [],
    status: { numberReady: 1, numberAvailable: 1 },
  },
];

describe("a DaemonSet decides", () => {
  for (const { name, spec = {}, nodes, pods, failures, want, ...row } of rows) {
    test(name, () => {
      const of = set(spec);
      const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "uid-agent" };
      const revision = build(controllerRevisionKind, {
        metadata: {
          name: "agent-new",
          labels: { ...LABELS, [HASH]: "new" },
          ownerReferences: [{ ...owner, controller: true }],
        },
        data: revisionData(of) as object,
        revision: 2,
      });
      const state = {
        set: of,
        selector: selectorFromLabels(LABELS),
        nodes,
        pods: pods.map(pod),
        revisions: [revision],
        failures,
      };
      const outcome = daemonSetController.decide(state, NOW_MS);
      const described = describeOutcome(outcome);
      assert.deepEqual(
        described.writes.filter((line) => line !== "update DaemonSet agent/status"),
        want,
      );
      assert.deepEqual(described.events, row.events);
      assert.equal(described.recheckInMs, row.recheckInMs);
      const { status = {} } = row;
      assert.deepEqual(partLike(written(outcome, daemonSetKind)?.status, status), status);
    });
  }

  test("a set that selects everything does nothing but say so", () => {
    const state = {
      set: set({}),
      selector: [],
      nodes: [node("a")],
      pods: [],
      revisions: [],
      failures: undefined,
    };
    assert.deepEqual(describeOutcome(daemonSetController.decide(state, NOW_MS)), {
      writes: [],
      events: [
        "Warning SelectingAll: This daemon set is selecting all pods. A non-empty selector is required.",
      ],
    });
  });
});
