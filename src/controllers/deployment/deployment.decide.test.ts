import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Deployment, DeploymentSpec, ReplicaSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { deploymentController } from "./deployment.ts";

const NOW = "2030-01-01T01:00:00Z";
const LABELS = { app: "web" };
const PREFIX = "deployment.kubernetes.io";

const template = (image: string) => ({
  metadata: { labels: LABELS },
  spec: { containers: [{ name: "c", image }] },
});

function deployment(
  spec: Draft<DeploymentSpec>,
  status: Draft<Deployment["status"]> = {},
): Deployment {
  return build(deploymentKind, {
    metadata: { name: "web", generation: 1, annotations: { [`${PREFIX}/revision`]: "1" } },
    spec: { replicas: 4, selector: { matchLabels: LABELS }, template: template("new"), ...spec },
    status,
  });
}

interface SetFacts {
  readonly image: string;
  readonly size: number;
  readonly ready?: number;
  readonly desired?: number;
  readonly pods?: number;
  readonly isLoose?: boolean;
}

function set({ image, size, ready = size, desired = 4, isLoose = false }: SetFacts): ReplicaSet {
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "uid-web" };
  return build(replicaSetKind, {
    metadata: {
      name: `web-${image}`,
      creationTimestamp: image === "old" ? "2030-01-01T00:00:00Z" : "2030-01-01T00:30:00Z",
      labels: isLoose ? { app: "other" } : { ...LABELS, "pod-template-hash": image },
      annotations: {
        [`${PREFIX}/revision`]: image === "old" ? "1" : "2",
        [`${PREFIX}/desired-replicas`]: String(desired),
        [`${PREFIX}/max-replicas`]: String(desired + 2),
      },
      ...(isLoose ? {} : { ownerReferences: [{ ...owner, controller: true }] }),
    },
    spec: {
      replicas: size,
      selector: { matchLabels: { ...LABELS, "pod-template-hash": image } },
      template: {
        ...template(image),
        metadata: { labels: { ...LABELS, "pod-template-hash": image } },
      },
    },
    status: { replicas: size, readyReplicas: ready, availableReplicas: ready },
  });
}

const pods = ({ image, pods: count = 0 }: SetFacts): readonly Pod[] =>
  Array.from({ length: count }, (_, i) =>
    build(podKind, {
      metadata: { name: `${image}-${i}` },
      spec: { containers: [{ name: "c" }] },
      status: { phase: "Running" },
    }),
  );

const rows: {
  name: string;
  spec?: Draft<DeploymentSpec>;
  sets: readonly SetFacts[];
  /** Without the status, which most rounds write. */
  want: readonly string[];
  sizes?: Readonly<Record<string, number>>;
}[] = [
  {
    name: "a new one gets its set",
    sets: [],
    want: ["create ReplicaSet web-HASH"],
  },
  {
    name: "a paused Deployment gets no ReplicaSet",
    spec: { paused: true },
    sets: [],
    want: [],
  },
  {
    name: "rolling: the new set grows within the surge",
    sets: [{ image: "old", size: 4 }],
    want: ["create ReplicaSet web-HASH"],
    sizes: { created: 1 },
  },
  {
    name: "rolling: the old one shrinks as the new one gets ready",
    spec: { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
    sets: [
      { image: "old", size: 4 },
      { image: "new", size: 1 },
    ],
    want: ["update ReplicaSet web-old"],
    sizes: { "web-old": 3 },
  },
  {
    name: "rolling: nothing moves while the new pods are not ready",
    spec: { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
    sets: [
      { image: "old", size: 4 },
      { image: "new", size: 1, ready: 0 },
    ],
    want: [],
  },
  {
    name: "rolling: old pods that never got ready go first, however few are available",
    spec: { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
    sets: [
      { image: "old", size: 4, ready: 2 },
      { image: "new", size: 1, ready: 1 },
    ],
    want: ["update ReplicaSet web-old"],
    sizes: { "web-old": 3 },
  },
  {
    name: "scaled during a rollout: both grow in proportion",
    spec: { replicas: 8, strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 1 } } },
    sets: [
      { image: "old", size: 3 },
      { image: "new", size: 3, ready: 0 },
    ],
    want: ["update ReplicaSet web-old", "update ReplicaSet web-new"],
    sizes: { "web-old": 5, "web-new": 5 },
  },
  {
    name: "recreate: the old ones go first",
    spec: { strategy: { type: "Recreate" } },
    sets: [{ image: "old", size: 4 }],
    want: ["update ReplicaSet web-old"],
    sizes: { "web-old": 0 },
  },
  {
    name: "recreate: while a pod of theirs is left, nothing new is made",
    spec: { strategy: { type: "Recreate" } },
    sets: [{ image: "old", size: 0, pods: 1 }],
    want: [],
  },
  {
    name: "recreate: pods of ReplicaSets without an owner do not delay the rollout",
    spec: { strategy: { type: "Recreate" } },
    sets: [
      { image: "old", size: 0 },
      { image: "loose", size: 2, pods: 2, isLoose: true },
    ],
    want: ["create ReplicaSet web-HASH"],
    sizes: { created: 4 },
  },
];

describe("a Deployment decides", () => {
  for (const { name, spec = {}, sets, want, sizes = {} } of rows) {
    test(name, () => {
      const outcome = decide(deployment(spec), sets);
      const lines = describeOutcome(outcome).writes.map((line) =>
        line.replace(/web-\w{8,10}$/, "web-HASH"),
      );
      assert.deepEqual(
        lines.filter((line) => !line.startsWith("update Deployment")),
        want,
      );
      const got: Record<string, number | undefined> = {};
      for (const write of (outcome.writes ?? []).flat()) {
        if (write.kind.names.kind !== "ReplicaSet" || !("object" in write)) continue;
        const object = write.object as ReplicaSet;
        got[write.op === "create" ? "created" : (object.metadata.name ?? "")] =
          object.spec.replicas;
      }
      for (const [set, size] of Object.entries(sizes)) assert.equal(got[set], size, set);
    });
  }

  const progress: {
    name: string;
    spec: Draft<DeploymentSpec>;
    sets: readonly SetFacts[];
    want: string;
    recheckInMs?: OutcomeText["recheckInMs"];
  }[] = [
    {
      name: "complete",
      spec: {},
      sets: [{ image: "new", size: 4 }],
      want: 'True NewReplicaSetAvailable ReplicaSet "web-new" has successfully progressed.',
    },
    {
      name: "under way",
      spec: {},
      sets: [{ image: "new", size: 4, ready: 2 }],
      want: 'True ReplicaSetUpdated ReplicaSet "web-new" is progressing.',
    },
    {
      name: "with no replicas it is complete at once, and names its set",
      spec: { replicas: 0 },
      sets: [],
      want: 'True NewReplicaSetAvailable ReplicaSet "web-HASH" has successfully progressed.',
    },
  ];
  for (const { name, spec, sets, want } of progress) {
    test(`progress: ${name}`, () => {
      const status = written(decide(deployment(spec), sets), deploymentKind)?.status;
      const condition = status?.conditions?.find(({ type }) => type === "Progressing");
      const text = `${condition?.status} ${condition?.reason} ${condition?.message}`;
      assert.equal(text.replace(/web-\w{8,10}"/, 'web-HASH"'), want);
    });
  }

  test("a stalled rollout is rechecked one second after progressDeadlineSeconds", () => {
    const since = (time: string) => ({
      replicas: 4,
      updatedReplicas: 4,
      unavailableReplicas: 4,
      conditions: [
        {
          type: "Progressing",
          status: "True" as const,
          reason: "ReplicaSetUpdated",
          lastUpdateTime: time,
          lastTransitionTime: time,
        },
      ],
    });
    const sets = [{ image: "new", size: 4, ready: 0 }];
    const spec = { progressDeadlineSeconds: 60 };
    const waiting = decide(deployment(spec, since("2030-01-01T00:59:30Z")), sets);
    assert.equal(waiting.recheckInMs, 31_000);
    const late = decide(deployment(spec, since("2030-01-01T00:58:59Z")), sets);
    const condition = written(late, deploymentKind)?.status.conditions?.find(
      ({ type }) => type === "Progressing",
    );
    assert.deepEqual(
      [condition?.status, condition?.reason, condition?.message],
      ["False", "ProgressDeadlineExceeded", 'ReplicaSet "web-new" has timed out progressing.'],
    );
  });

  test("a set that is in the way by its name makes another hash", () => {
    const state = stateOf(deployment({}), [], set({ image: "other", size: 0 }));
    const outcome = deploymentController.decide(state, Date.parse(NOW));
    const write = (outcome.writes ?? []).flat().find(({ op }) => op === "create")!;
    const status = { metadata: {}, reason: "AlreadyExists", message: "is there" };
    const refused = { write, status };
    const next = deploymentController.decideRefused?.(state, refused, Date.parse(NOW)) ?? {};
    assert.equal(written(next, deploymentKind)?.status.collisionCount, 1);
  });
});

function newSetName({ writes = [] }: ReturnType<typeof deploymentController.decide>): string {
  const made = writes.flat().find(({ op }) => op === "create");
  return made?.op === "create" ? (made.object.metadata.name ?? "") : "";
}

function decide(of: Deployment, sets: readonly SetFacts[]) {
  return deploymentController.decide(stateOf(of, sets), Date.parse(NOW));
}

function stateOf(of: Deployment, sets: readonly SetFacts[], inTheWay?: ReplicaSet) {
  const candidates = sets.map(set);
  const byUid = new Map(candidates.map(({ metadata }, i) => [metadata.uid ?? "", pods(sets[i]!)]));
  const state = (namesakes: ReadonlyMap<string, ReplicaSet>) => ({
    deployment: of,
    candidates,
    pods: byUid,
    namesakes,
  });
  const created = newSetName(deploymentController.decide(state(new Map()), Date.parse(NOW)));
  const namesakes = new Map(inTheWay && [[created, inTheWay]]);
  return state(namesakes);
}
