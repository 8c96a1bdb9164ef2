import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { DaemonSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { daemonSetKind } from "#api/kinds/apps/v1/daemon-set.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { daemonSetController } from "./daemon-set.ts";
import { nodeOf, REVISION_LABEL } from "./placement.ts";

const AT = "2030-01-01T00:00:00Z";
const labels = { app: "agent" };

async function start(nodes: number, spec: Draft<DaemonSet["spec"]> = {}): Promise<Cluster> {
  const cluster = await startCluster({ at: AT, controllers: [daemonSetController] });
  for (let i = 1; i <= nodes; i++) await addNode(cluster, `n${i}`);
  await cluster.seed(daemonSetKind, {
    metadata: { name: "agent", generation: 1 },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "one" }] } },
      ...spec,
    },
  });
  return cluster;
}

const addNode = (cluster: Cluster, name: string): Promise<unknown> =>
  cluster.seed(nodeKind, { metadata: { name, labels: { name } } });

const active = (cluster: Cluster): readonly Pod[] =>
  cluster.list(podKind).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
const nodesOf = (cluster: Cluster): readonly string[] =>
  active(cluster)
    .map((pod) => nodeOf(pod) ?? "")
    .sort();
const status = (cluster: Cluster): DaemonSet["status"] =>
  cluster.get(daemonSetKind, "agent")!.status;
const image = ({ spec }: Pod): string => spec.containers?.[0]?.image ?? "";
const images = (cluster: Cluster): readonly string[] =>
  active(cluster)
    .map((pod) => `${nodeOf(pod)} ${image(pod)}`)
    .sort();

async function runAll(cluster: Cluster): Promise<void> {
  const lastTransitionTime = timeFromMs(cluster.clock.nowMs());
  for (const pod of active(cluster)) {
    if (pod.status.phase === "Running") continue;
    await cluster.edit(podKind, pod.metadata.name ?? "", (draft) => {
      draft.spec.nodeName = nodeOf(pod)!;
      draft.status.phase = "Running";
      draft.status.conditions = [{ type: "Ready", status: "True", lastTransitionTime }];
    });
  }
}

async function finishDeletes(cluster: Cluster): Promise<number> {
  const gone = cluster
    .list(podKind)
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  for (const { metadata } of gone) {
    const key = { namespace: "default", name: metadata.name ?? "" };
    await cluster.client.delete(podKind, key, { gracePeriodSeconds: 0 });
  }
  await cluster.settle();
  return gone.length;
}

const setImage = async (cluster: Cluster, to: string): Promise<void> => {
  const spec = { template: { spec: { containers: [{ name: "c", image: to }] } } };
  await cluster.client.patch(daemonSetKind, { name: "agent", namespace: "default" }, "strategic", {
    spec,
  });
  await cluster.settle();
};

describe("daemon set", () => {
  test("one pod on each node, those that come later too; none where the node is gone", async () => {
    await using cluster = await start(2);
    assert.deepEqual(nodesOf(cluster), ["n1", "n2"]);
    await runAll(cluster);
    await addNode(cluster, "n3");
    assert.deepEqual(nodesOf(cluster), ["n1", "n2", "n3"]);
    assert.deepEqual(status(cluster), {
      currentNumberScheduled: 3,
      numberMisscheduled: 0,
      desiredNumberScheduled: 3,
      numberReady: 2,
      observedGeneration: 1,
      updatedNumberScheduled: 3,
      numberAvailable: 2,
      numberUnavailable: 1,
    });
    await cluster.client.delete(nodeKind, { name: "n3" });
    await cluster.settle();
    assert.deepEqual(nodesOf(cluster), ["n1", "n2"]);
  });

  test("labels and taints decide; pods go where they do not belong any more", async () => {
    await using cluster = await start(2, {
      template: {
        metadata: { labels },
        spec: { nodeSelector: { name: "n1" }, containers: [{ name: "c", image: "one" }] },
      },
    });
    assert.deepEqual(nodesOf(cluster), ["n1"]);
    await runAll(cluster);
    await cluster.edit(
      nodeKind,
      "n1",
      (node) => void (node.spec.taints = [{ key: "x", effect: "NoSchedule" }]),
    );
    assert.deepEqual(nodesOf(cluster), ["n1"]);
    assert.equal(status(cluster).numberMisscheduled, 1);
    await cluster.edit(
      nodeKind,
      "n1",
      (node) => void (node.spec.taints = [{ key: "x", effect: "NoExecute" }]),
    );
    assert.deepEqual(nodesOf(cluster), []);
  });

  test("rolling update: one node at a time, each waits for the one before", async () => {
    await using cluster = await start(3);
    await runAll(cluster);
    await setImage(cluster, "two");
    for (let done = 1; done <= 3; done++) {
      assert.equal(await finishDeletes(cluster), 1);
      assert.equal(images(cluster).filter((text) => text.endsWith("two")).length, done);
      assert.equal(await finishDeletes(cluster), 0);
      await runAll(cluster);
    }
    assert.equal(await finishDeletes(cluster), 0);
    assert.equal(status(cluster).updatedNumberScheduled, 3);
    assert.equal(cluster.names(controllerRevisionKind).length, 2);
    for (const { data } of cluster.list(controllerRevisionKind)) {
      // Its bytes are compared with those of a map that is written in the order of its keys.
      const { spec } = data as { spec: { template: { spec: { containers: object[] } } } };
      assert.deepEqual(Object.keys(spec.template), ["$patch", "metadata", "spec"]);
      const [container = {}] = spec.template.spec.containers;
      assert.deepEqual(Object.keys(container), Object.keys(container).sort());
    }
  });

  test("rolling update waits until a pod has been ready for long enough", async () => {
    await using cluster = await start(2, { minReadySeconds: 60 });
    await runAll(cluster);
    await cluster.advance(60_000);
    assert.equal(status(cluster).numberAvailable, 2);
    await setImage(cluster, "two");
    assert.equal(await finishDeletes(cluster), 1);
    await runAll(cluster);
    await cluster.advance(59_000);
    assert.equal(await finishDeletes(cluster), 0);
    await cluster.advance(1_000);
    assert.equal(await finishDeletes(cluster), 1);
  });

  test("rolling update with surge: the new pod comes first", async () => {
    await using cluster = await start(2, {
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
      },
    });
    await runAll(cluster);
    await setImage(cluster, "two");
    assert.deepEqual(images(cluster), ["n1 one", "n1 two", "n2 one"]);
    await runAll(cluster);
    assert.deepEqual(images(cluster), ["n1 two", "n2 one", "n2 two"]);
    await finishDeletes(cluster);
    await runAll(cluster);
    assert.deepEqual(images(cluster), ["n1 two", "n2 two"]);
  });

  test("OnDelete replaces only what is deleted, with the new template", async () => {
    await using cluster = await start(2, { updateStrategy: { type: "OnDelete" } });
    await runAll(cluster);
    await setImage(cluster, "two");
    assert.equal(await finishDeletes(cluster), 0);
    assert.equal(status(cluster).updatedNumberScheduled, undefined);
    const [pod] = active(cluster).filter((one) => nodeOf(one) === "n2");
    await cluster.client.delete(podKind, { namespace: "default", name: pod!.metadata.name! });
    await finishDeletes(cluster);
    assert.deepEqual(images(cluster), ["n1 one", "n2 two"]);
  });

  test("failed pods are replaced after a pause that doubles", async () => {
    await using cluster = await start(1);
    const fail = async (): Promise<void> => {
      const [pod] = active(cluster);
      await cluster.edit(podKind, pod!.metadata.name!, (draft) => {
        draft.spec.nodeName = "n1";
        draft.status.phase = "Failed";
      });
    };
    await fail();
    assert.equal(cluster.events.at(-1)?.reason, "SuccessfulCreate");
    assert.ok(cluster.events.some(({ reason }) => reason === "FailedDaemonPod"));
    for (const pauseMs of [1_000, 2_000, 4_000]) {
      await fail();
      await cluster.advance(pauseMs - 1);
      assert.equal(active(cluster)[0]?.status.phase, "Failed");
      await cluster.advance(1);
      assert.equal(active(cluster)[0]?.status.phase, "Pending");
    }
  });

  test("going back to an old template takes its revision up again; the history is limited", async () => {
    await using cluster = await start(1, { revisionHistoryLimit: 1 });
    await runAll(cluster);
    for (const next of ["two", "three", "two"]) {
      await setImage(cluster, next);
      await finishDeletes(cluster);
      await runAll(cluster);
    }
    const revisions = cluster.list(controllerRevisionKind).map(({ revision }) => revision);
    assert.deepEqual([...revisions].sort(), [3, 4]);
  });

  test("a ControllerRevision added by another client is not handled until another change", async () => {
    await using cluster = await start(1);
    await runAll(cluster);
    const [first] = cluster.list(controllerRevisionKind);
    const { metadata, ...rest } = first!;
    const { labels = {}, ownerReferences = [] } = metadata;
    const twin = { name: "agent-twin", labels, ownerReferences };
    await cluster.seed(controllerRevisionKind, { ...rest, metadata: twin, revision: 2 });
    await cluster.settle();
    assert.deepEqual(cluster.names(controllerRevisionKind), ["agent-twin", metadata.name].sort());
    await addNode(cluster, "n2");
    await cluster.settle();
    assert.deepEqual(cluster.names(controllerRevisionKind), ["agent-twin"]);
  });

  test("revisions of an earlier set are taken over, and those that say the same become one", async () => {
    await using cluster = await start(1);
    await runAll(cluster);
    const [first] = cluster.list(controllerRevisionKind);
    const { metadata, ...rest } = first!;
    const twin = { name: "agent-twin", labels: metadata.labels ?? {} };
    await cluster.seed(controllerRevisionKind, { ...rest, metadata: twin, revision: 7 });
    // The key is not queued by orphans: anything that concerns the set brings it there.
    await addNode(cluster, "n2");
    const revisions = cluster.list(controllerRevisionKind);
    assert.deepEqual(
      revisions.map(({ metadata: m, revision }) => [
        m.name,
        revision,
        m.ownerReferences?.[0]?.kind,
      ]),
      [["agent-twin", 7, "DaemonSet"]],
    );
    assert.equal(cluster.list(podKind).length, 2);
    const hashes = cluster.list(podKind).map((pod) => pod.metadata.labels?.[REVISION_LABEL]);
    assert.deepEqual(new Set(hashes), new Set([twin.labels[REVISION_LABEL]]));
  });
});
