import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ReplicaSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { replicaSetController } from "./replica-set.ts";

const LABELS = { app: "web" };
const AT = "2030-01-01T00:00:00Z";

function replicaSet(spec: Draft<ReplicaSet["spec"]> = {}): Draft<ReplicaSet> {
  return {
    metadata: { name: "web", generation: 1 },
    spec: {
      replicas: 3,
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { containers: [{ name: "c", image: "i" }] } },
      ...spec,
    },
  };
}

async function makeReady(cluster: Cluster, name: string): Promise<void> {
  const lastTransitionTime = new Date(cluster.clock.nowMs()).toISOString().replace(".000", "");
  await cluster.edit(podKind, name, (pod) => {
    pod.status.phase = "Running";
    pod.status.conditions = [{ type: "Ready", status: "True", lastTransitionTime }];
  });
}

const activeNames = (cluster: Cluster): readonly string[] =>
  cluster
    .list(podKind)
    .filter(({ metadata }: Pod) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name ?? "");

describe("replica set: changes of pods that concern it", () => {
  const ownerReferences = [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1", controller: true },
  ];
  const pod = build<Pod>(podKind, {
    metadata: { name: "web-1", namespace: "default", uid: "2", labels: LABELS, ownerReferences },
    status: { phase: "Pending", conditions: [{ type: "Ready", status: "False" }] },
  });
  const changed = (draft: Draft<Pod>): Pod =>
    build<Pod>(podKind, {
      metadata: { ...pod.metadata, ...draft.metadata },
      status: { ...pod.status, ...draft.status },
      spec: { ...pod.spec, ...draft.spec },
    });
  const READY = [{ type: "Ready", status: "True" }];
  const rows = [
    { name: "binding to a node", next: changed({ spec: { nodeName: "n" } }), concerns: false },
    { name: "a start", next: changed({ status: { phase: "Running" } }), concerns: false },
    { name: "Ready", next: changed({ status: { conditions: READY } }), concerns: true },
    { name: "the end", next: changed({ status: { phase: "Failed" } }), concerns: true },
    {
      name: "a deletion",
      next: changed({ metadata: { deletionTimestamp: AT } }),
      concerns: true,
    },
    { name: "other labels", next: changed({ metadata: { labels: { app: "x" } } }), concerns: true },
    { name: "another pod of the name", next: changed({ metadata: { uid: "3" } }), concerns: true },
    { name: "its removal", next: undefined, concerns: true },
  ];
  const [, feed] = replicaSetController.feeds;
  for (const { name, next, concerns } of rows) {
    test(`${name}: ${concerns ? "reconciles" : "does not reconcile"} the ReplicaSet`, () => {
      const caches = (): never => assert.fail("needs no cache");
      const keys = feed?.keysOfChange?.({ next, old: pod }, caches) ?? [];
      assert.equal(keys.length > 0, concerns);
    });
  }
});

describe("replica set", () => {
  test("makes pods from its template, owned by it, and counts them", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [replicaSetController] });
    await cluster.seed(replicaSetKind, replicaSet());
    const pods = cluster.list(podKind);
    assert.equal(pods.length, 3);
    for (const { metadata, spec } of pods) {
      assert.match(metadata.name ?? "", /^web-[a-z0-9]{5}$/);
      assert.deepEqual(metadata.labels, LABELS);
      assert.equal(metadata.ownerReferences?.[0]?.name, "web");
      assert.equal(spec.containers?.[0]?.image, "i");
    }
    const { status } = cluster.get(replicaSetKind, "web")!;
    assert.deepEqual(
      [
        status.replicas,
        status.fullyLabeledReplicas,
        status.readyReplicas,
        status.observedGeneration,
      ],
      [3, 3, undefined, 1],
    );
    assert.deepEqual(
      cluster.events.map(({ reason, message }) => `${reason} ${message}`).sort(),
      pods.map(({ metadata }) => `SuccessfulCreate Created pod: ${metadata.name}`).sort(),
    );
  });

  test("a pod that goes is replaced; too many shrink to fit, the unready first", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [replicaSetController] });
    await cluster.seed(replicaSetKind, replicaSet());
    const [first = "", second = ""] = cluster.names(podKind);
    await makeReady(cluster, first);
    await cluster.client.delete(
      podKind,
      { namespace: "default", name: second },
      { gracePeriodSeconds: 0 },
    );
    await cluster.settle();
    assert.equal(activeNames(cluster).length, 3);
    await cluster.edit(replicaSetKind, "web", (set) => void (set.spec.replicas = 1));
    assert.deepEqual(activeNames(cluster), [first]);
  });

  test("available only after minReadySeconds", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [replicaSetController] });
    await cluster.seed(replicaSetKind, replicaSet({ replicas: 1, minReadySeconds: 30 }));
    await makeReady(cluster, cluster.names(podKind)[0]!);
    const available = (): number =>
      cluster.get(replicaSetKind, "web")?.status.availableReplicas ?? 0;
    await cluster.advance(29_999);
    assert.equal(available(), 0);
    await cluster.advance(1);
    assert.equal(available(), 1);
  });

  test("adopts a matching orphan and releases a pod that no longer matches", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [replicaSetController] });
    const pod: Draft<Pod> = {
      metadata: { name: "loose", labels: LABELS },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    await cluster.seed(podKind, pod);
    await cluster.seed(replicaSetKind, replicaSet({ replicas: 1 }));
    assert.deepEqual(cluster.names(podKind), ["loose"]);
    assert.equal(cluster.get(podKind, "loose")?.metadata.ownerReferences?.[0]?.name, "web");
    await cluster.edit(podKind, "loose", (p) => void (p.metadata.labels = { app: "other" }));
    assert.equal(cluster.get(podKind, "loose")?.metadata.ownerReferences, undefined);
    assert.equal(cluster.names(podKind).length, 2);
  });

  test("a set that is being deleted makes no more pods", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [replicaSetController] });
    const draft = replicaSet();
    await cluster.seed(replicaSetKind, {
      ...draft,
      metadata: { ...draft.metadata, deletionTimestamp: AT, finalizers: ["x"] },
    });
    assert.deepEqual(cluster.names(podKind), []);
  });

  test("a refused create sets ReplicaFailure and records FailedCreate, and is retried", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [replicaSetController] });
    const template = {
      metadata: { labels: LABELS },
      spec: { containers: [{ name: "NOT VALID", image: "i" }] },
    };
    await cluster.seed(replicaSetKind, replicaSet({ template }));
    const failure = cluster.get(replicaSetKind, "web")?.status.conditions?.[0];
    assert.deepEqual(
      [failure?.type, failure?.status, failure?.reason],
      ["ReplicaFailure", "True", "FailedCreate"],
    );
    assert.match(failure?.message ?? "", /is invalid/);
    const before = cluster.events.filter(({ reason }) => reason === "FailedCreate").length;
    await cluster.advance(60_000);
    const after = cluster.events.filter(({ reason }) => reason === "FailedCreate").length;
    assert.ok(after > before && after < before + 20, `${before} → ${after}`);
  });
});
