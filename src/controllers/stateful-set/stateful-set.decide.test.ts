import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type {
  ControllerRevision,
  StatefulSet,
  StatefulSetSpec,
  StatefulSetStatus,
} from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { selectorFromLabels } from "#api/meta/label-selector.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, partLike, written } from "#testing/decisions.ts";
import { revisionData } from "../shared/revision-history.ts";
import { statefulSetController } from "./stateful-set.ts";

const NOW = "2030-01-01T01:00:00Z";
const LABELS = { app: "db" };
const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid: "uid-db" };

const template = (image: string) => ({
  metadata: { labels: LABELS },
  spec: { containers: [{ name: "c", image }] },
});

function set(spec: Draft<StatefulSetSpec>): StatefulSet {
  return build(statefulSetKind, {
    metadata: { name: "db", generation: 1 },
    spec: {
      replicas: 3,
      serviceName: "db",
      selector: { matchLabels: LABELS },
      template: template("new"),
      ...spec,
    },
    status: {
      replicas: 0,
      currentRevision: "db-old",
      updateRevision: "db-new",
      currentReplicas: 3,
    },
  });
}

/** The templates it has had, as it wrote them down. */
function revision(of: StatefulSet, image: string, number: number): ControllerRevision {
  const spec = build(statefulSetKind, { ...of, spec: { ...of.spec, template: template(image) } });
  return build(controllerRevisionKind, {
    metadata: {
      name: `db-${image}`,
      labels: LABELS,
      ownerReferences: [{ ...owner, controller: true }],
    },
    data: revisionData(spec) as object,
    revision: number,
  });
}

interface Facts {
  readonly ordinal: number;
  readonly of?: "old" | "new";
  readonly phase?: string;
  readonly ready?: boolean;
  readonly going?: boolean;
}

function pod({ ordinal, of = "new", phase = "Running", ready = true, going = false }: Facts): Pod {
  const name = `db-${ordinal}`;
  return build(podKind, {
    metadata: {
      name,
      labels: {
        ...LABELS,
        "controller-revision-hash": `db-${of}`,
        "statefulset.kubernetes.io/pod-name": name,
      },
      ownerReferences: [{ ...owner, controller: true }],
      ...(going ? { deletionTimestamp: NOW } : {}),
    },
    spec: { containers: [{ name: "c" }] },
    status: {
      phase,
      conditions: ready
        ? [{ type: "Ready", status: "True", lastTransitionTime: "2030-01-01T00:59:50Z" }]
        : [],
    },
  });
}

const all = (of: "old" | "new"): readonly Facts[] => [0, 1, 2].map((ordinal) => ({ ordinal, of }));

const rows: {
  name: string;
  spec?: Draft<StatefulSetSpec>;
  pods: readonly Facts[];
  /** Without the status. */
  want: readonly string[];
  status?: Partial<StatefulSetStatus>;
  recheckInMs?: number;
}[] = [
  { name: "in order: the first only", pods: [], want: ["create Pod db-0"] },
  {
    name: "in order: the next when the first is ready",
    pods: [{ ordinal: 0 }],
    want: ["create Pod db-1"],
  },
  { name: "in order: not before", pods: [{ ordinal: 0, ready: false }], want: [] },
  {
    name: "in parallel: all at once",
    spec: { podManagementPolicy: "Parallel" },
    pods: [],
    want: ["create Pod db-0", "create Pod db-1", "create Pod db-2"],
  },
  {
    name: "a first ordinal of its own",
    spec: { ordinals: { start: 5 } },
    pods: [],
    want: ["create Pod db-5"],
  },
  {
    name: "claims come before their pod",
    spec: {
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
    },
    pods: [],
    want: ["create PersistentVolumeClaim data-db-0", "create Pod db-0"],
  },
  {
    name: "one that has ended is deleted, to be made again",
    pods: [{ ordinal: 0, phase: "Failed", ready: false }],
    want: ["delete Pod db-0"],
  },
  {
    name: "a pod that is being deleted is waited for",
    pods: [{ ordinal: 0, going: true }],
    want: [],
  },
  {
    name: "with too many pods the highest ordinal is deleted",
    spec: { replicas: 1 },
    pods: all("new"),
    want: ["delete Pod db-2"],
  },
  {
    name: "too many, but one below is not ready",
    spec: { replicas: 2 },
    pods: [{ ordinal: 0, ready: false }, { ordinal: 1 }, { ordinal: 2 }],
    want: [],
  },
  { name: "an update starts at the highest", pods: all("old"), want: ["delete Pod db-2"] },
  {
    name: "an update waits for the one it made",
    pods: [
      { ordinal: 0, of: "old" },
      { ordinal: 1, of: "old" },
      { ordinal: 2, ready: false },
    ],
    want: [],
  },
  {
    name: "an update does not wait for what is wrong further down",
    spec: { podManagementPolicy: "Parallel" },
    pods: [
      { ordinal: 0, of: "old", ready: false },
      { ordinal: 1, of: "old", ready: false },
      { ordinal: 2, of: "old" },
    ],
    want: ["delete Pod db-2"],
  },
  {
    name: "an update replaces what is wrong, too",
    spec: { podManagementPolicy: "Parallel" },
    pods: [
      { ordinal: 0, of: "old" },
      { ordinal: 1, of: "old", ready: false },
      { ordinal: 2, ready: true },
    ],
    want: ["delete Pod db-1"],
  },
  {
    name: "an update waits for one that is missing",
    spec: { podManagementPolicy: "Parallel" },
    pods: [
      { ordinal: 0, of: "old" },
      { ordinal: 1, of: "old" },
    ],
    want: ["create Pod db-2"],
  },
  {
    name: "an update of several at once counts all that are not well",
    spec: {
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } },
    },
    pods: [
      { ordinal: 0, of: "old", ready: false },
      { ordinal: 1, of: "old" },
      { ordinal: 2, of: "old" },
    ],
    want: ["delete Pod db-2"],
  },
  {
    name: "an update stops at the partition",
    spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } },
    pods: [{ ordinal: 0, of: "old" }, { ordinal: 1, of: "old" }, { ordinal: 2 }],
    want: [],
    status: { currentReplicas: 2, updatedReplicas: 1, currentRevision: "db-old" },
  },
  {
    name: "OnDelete: old pods are not replaced",
    spec: { updateStrategy: { type: "OnDelete" } },
    pods: all("old"),
    want: [],
  },
  {
    name: "an update that is done is the current one",
    pods: all("new"),
    want: [],
    status: { currentReplicas: 3, updatedReplicas: 3, currentRevision: "db-new" },
  },
  {
    name: "an update of nothing is done",
    spec: { replicas: 0 },
    pods: [],
    want: [],
    status: { currentRevision: "db-new", updateRevision: "db-new" },
  },
  {
    name: "an update is not done while some are missing",
    pods: [{ ordinal: 0 }],
    want: ["create Pod db-1"],
    status: { currentRevision: "db-old" },
  },
  {
    name: "ready for long enough?",
    spec: { minReadySeconds: 30 },
    pods: [{ ordinal: 0 }],
    want: [],
    status: { readyReplicas: 1, availableReplicas: 0 },
    recheckInMs: 20_000,
  },
];

describe("a StatefulSet decides", () => {
  for (const { name, spec = {}, pods, want, status = {}, recheckInMs } of rows) {
    test(name, () => {
      const of = set(spec);
      const outcome = statefulSetController.decide(
        {
          set: of,
          selector: selectorFromLabels(LABELS),
          pods: pods.map(pod),
          revisions: [revision(of, "old", 1), revision(of, "new", 2)],
          claims: new Map(),
        },
        Date.parse(NOW),
      );
      const described = describeOutcome(outcome);
      assert.deepEqual(
        described.writes.filter((line) => line !== "update StatefulSet db/status"),
        want,
      );
      assert.deepEqual(partLike(written(outcome, statefulSetKind)?.status, status), status);
      assert.equal(described.recheckInMs, recheckInMs);
    });
  }
});
