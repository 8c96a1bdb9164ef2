import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ReplicaSet, ReplicaSetSpec } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { selectorFromLabels } from "#api/meta/label-selector.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { type ReplicaState, replicaSetController } from "./replica-set.ts";

const NOW = "2030-01-01T01:00:00Z";
const LABELS = { app: "web" };
const OWNED = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "uid-web" }];

function set(spec: Partial<ReplicaSetSpec>, metadata: Partial<ReplicaSet["metadata"]> = {}) {
  const template = { metadata: { labels: LABELS }, spec: { containers: [{ name: "c" }] } };
  return build(replicaSetKind, {
    metadata: { name: "web", generation: 1, ...metadata },
    spec: { selector: { matchLabels: LABELS }, template, ...spec } as ReplicaSetSpec,
    status: { replicas: 0, terminatingReplicas: 0, observedGeneration: 1 },
  });
}

interface Facts {
  readonly name: string;
  readonly phase?: string;
  readonly readySince?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly isLoose?: boolean;
  readonly isGoing?: boolean;
}

function pod({ name, phase = "Running", readySince, labels = LABELS, ...facts }: Facts): Pod {
  const owner = OWNED.map((o) => ({ ...o, controller: true, blockOwnerDeletion: true }));
  return build(podKind, {
    metadata: {
      name,
      labels,
      ...(facts.isLoose === true ? {} : { ownerReferences: owner }),
      ...(facts.isGoing === true ? { deletionTimestamp: NOW } : {}),
    },
    spec: { nodeName: "n", containers: [{ name: "c" }] },
    status: {
      phase,
      conditions: readySince
        ? [{ type: "Ready", status: "True", lastTransitionTime: readySince }]
        : [],
    },
  });
}

const rows: {
  name: string;
  set: ReplicaSet;
  pods: readonly Facts[];
  want: OutcomeText;
  status?: Partial<ReplicaSet["status"]>;
}[] = [
  { name: "all is well", set: set({ replicas: 0 }), pods: [], want: { writes: [] } },
  {
    name: "what is missing is made, in one batch",
    set: set({ replicas: 3 }),
    pods: [],
    want: { writes: ["3 × create Pod web-"] },
  },
  {
    name: "at most 500 at once",
    set: set({ replicas: 700 }),
    pods: [],
    want: { writes: ["500 × create Pod web-"] },
  },
  {
    name: "finished and terminating pods do not count; terminatingReplicas is set",
    set: set({ replicas: 1 }),
    pods: [
      { name: "done", phase: "Succeeded" },
      { name: "failed", phase: "Failed" },
      { name: "going", isGoing: true },
    ],
    want: { writes: ["create Pod web-", "update ReplicaSet web/status"] },
    status: { replicas: 0, terminatingReplicas: 1 },
  },
  {
    name: "too many: the one that is not ready goes",
    set: set({ replicas: 1 }),
    pods: [{ name: "ready", readySince: NOW }, { name: "unready" }],
    want: { writes: ["delete Pod unready", "update ReplicaSet web/status"] },
    status: { replicas: 2, readyReplicas: 1, fullyLabeledReplicas: 2, availableReplicas: 1 },
  },
  {
    name: "a matching pod without a controller is adopted, one that no longer matches is released",
    set: set({ replicas: 1 }),
    pods: [
      { name: "loose", isLoose: true },
      { name: "other", labels: { app: "other" } },
    ],
    want: {
      writes: ["patch Pod loose", "patch Pod other", "update ReplicaSet web/status"],
    },
    status: { replicas: 1 },
  },
  {
    name: "a set that is being deleted makes and adopts nothing",
    set: set({ replicas: 3 }, { deletionTimestamp: NOW, finalizers: ["x"] }),
    pods: [{ name: "loose", isLoose: true }],
    want: { writes: [] },
  },
  {
    name: "available only when it has been ready for long enough: look again then",
    set: set({ replicas: 1, minReadySeconds: 30 }),
    pods: [{ name: "a", readySince: "2030-01-01T00:59:50Z" }],
    want: { writes: ["update ReplicaSet web/status"], recheckInMs: 20_000 },
    status: { readyReplicas: 1, availableReplicas: 0 },
  },
];

describe("a ReplicaSet decides", () => {
  for (const { name, set: replicaSet, pods, want, status = {} } of rows) {
    test(name, () => {
      const outcome = replicaSetController.decide(stateOf(replicaSet, pods), Date.parse(NOW));
      assert.deepEqual(describeOutcome(outcome), want);
      const actual: Partial<ReplicaSet["status"]> = written(outcome, replicaSetKind)?.status ?? {};
      for (const [field, value] of Object.entries(status))
        assert.equal(actual[field as keyof typeof actual] ?? 0, value, field);
    });
  }

  test("a refused create sets the condition ReplicaFailure, which is removed later", () => {
    const state = stateOf(set({ replicas: 1 }), []);
    const outcome = replicaSetController.decide(state, Date.parse(NOW));
    const [batch] = outcome.writes ?? [];
    const write = [batch].flat()[0]!;
    const refused = { write, status: { metadata: {}, message: "no room" } };
    const refusal = replicaSetController.decideRefused?.(state, refused, Date.parse(NOW));
    const failing = written(refusal ?? {}, replicaSetKind)!;
    assert.deepEqual(failing.status.conditions, [
      {
        type: "ReplicaFailure",
        status: "True",
        lastTransitionTime: NOW,
        reason: "FailedCreate",
        message: "no room",
      },
    ]);
    const later = replicaSetController.decide(
      stateOf(failing, [{ name: "a", readySince: NOW }]),
      Date.parse(NOW),
    );
    assert.deepEqual(written(later, replicaSetKind)?.status.conditions, []);
  });
});

function stateOf(replicaSet: ReplicaSet, pods: readonly Facts[]): ReplicaState {
  return {
    set: replicaSet,
    stored: replicaSet,
    selector: selectorFromLabels(LABELS),
    pods: pods.map(pod),
    relatedByNode: new Map(),
  };
}
