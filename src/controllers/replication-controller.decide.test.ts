/** What a ReplicationController does otherwise than a ReplicaSet, and what it must not. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod, ReplicationController } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { Cache } from "#client/cache.ts";
import type { Reader } from "#runtime/controller.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { orphanPods } from "./replica-set.ts";
import { replicationControllerController } from "./replication-controller.ts";

const NOW_MS = Date.parse("2030-01-01T01:00:00Z");
const LABELS = { app: "old" };

interface Facts {
  readonly name: string;
  readonly owner?: "own" | "none" | "ReplicaSet";
  readonly labels?: Readonly<Record<string, string>>;
  readonly going?: boolean;
  readonly ready?: boolean;
}

function pod({ name, owner = "own", labels = LABELS, going = false, ready = false }: Facts): Pod {
  const reference = {
    ...(owner === "own"
      ? { apiVersion: "v1", kind: "ReplicationController", name: "old", uid: "uid-old" }
      : { apiVersion: "apps/v1", kind: owner, name: "web", uid: "uid-web" }),
    controller: true,
  };
  return build(podKind, {
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      labels,
      ...(owner === "none" ? {} : { ownerReferences: [reference] }),
      ...(going ? { deletionTimestamp: "2030-01-01T00:00:00Z" } : {}),
    },
    spec: { containers: [{ name: "c" }] },
    status: {
      phase: "Running",
      conditions: ready
        ? [{ type: "Ready", status: "True", lastTransitionTime: "2030-01-01T00:00:00Z" }]
        : [],
    },
  });
}

const rows: {
  name: string;
  replicas: number;
  pods: readonly Facts[];
  template?: boolean;
  want: OutcomeText;
  status?: ReplicationController["status"];
}[] = [
  {
    name: "pods of the ReplicationController are counted",
    replicas: 1,
    pods: [{ name: "a", ready: true }],
    want: { writes: ["update ReplicationController old/status"] },
    status: {
      observedGeneration: 1,
      replicas: 1,
      fullyLabeledReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
      conditions: [],
    },
  },
  {
    name: "pods that are being deleted are in no count of the status",
    replicas: 1,
    pods: [{ name: "a" }, { name: "b", going: true }],
    want: { writes: ["update ReplicationController old/status"] },
    status: { observedGeneration: 1, replicas: 1, fullyLabeledReplicas: 1, conditions: [] },
  },
  {
    name: "a pod of a ReplicaSet is left alone",
    replicas: 1,
    pods: [{ name: "a", owner: "ReplicaSet" }],
    want: { writes: ["create Pod old-", "update ReplicationController old/status"] },
  },
  {
    name: "a pod without a controller is adopted",
    replicas: 1,
    pods: [{ name: "a", owner: "none" }],
    want: { writes: ["patch Pod a", "update ReplicationController old/status"] },
  },
  {
    name: "a pod that no longer matches the selector is released",
    replicas: 0,
    pods: [{ name: "a", labels: { app: "other" } }],
    want: { writes: ["patch Pod a", "update ReplicationController old/status"] },
  },
  {
    name: "without a template no pod is created",
    replicas: 1,
    pods: [],
    template: false,
    want: { writes: [] },
  },
];

describe("a ReplicationController decides", () => {
  for (const { name, replicas, pods, template = true, want, status } of rows) {
    test(name, async () => {
      const controller = build(replicationControllerKind, {
        metadata: { name: "old", namespace: "default", uid: "uid-old", generation: 1 },
        spec: {
          replicas,
          selector: LABELS,
          ...(template
            ? { template: { metadata: { labels: LABELS }, spec: { containers: [{ name: "c" }] } } }
            : {}),
        },
        status: { replicas: 9 },
      });
      const outcome = replicationControllerController.decide(
        await observed(controller, pods.map(pod)),
        NOW_MS,
      );
      assert.deepEqual({ writes: describeOutcome(outcome).writes }, want);
      if (status !== undefined) {
        assert.deepEqual(written(outcome, replicationControllerKind)?.status, status);
      }
    });
  }
});

/** Through the caches, because what it reads there is what makes it another kind. */
async function observed(controller: ReplicationController, pods: readonly Pod[]) {
  const controllers = new Cache<ReplicationController>();
  const cachedPods = new Cache<Pod>();
  cachedPods.addIndex(orphanPods.name, orphanPods.values);
  controllers.put(controller);
  for (const one of pods) cachedPods.put(one);
  const caches = (kind: unknown) => (kind === podKind ? cachedPods : controllers);
  return replicationControllerController.observe(
    caches as never,
    { namespace: "default", name: "old" },
    {} as Reader,
    undefined,
    { nowMs: 0, elapsedMs: () => 0, sleep: async () => {}, signal: new AbortController().signal },
  );
}
