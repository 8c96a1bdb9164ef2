import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { StatefulSet } from "#api/generated/apps.v1.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { statefulSetController } from "./stateful-set.ts";

const labels = { app: "db" };
const AT = "2030-01-01T00:00:00Z";

async function start(
  spec: Draft<StatefulSet["spec"]> = {},
  before: (cluster: Cluster) => Promise<unknown> = async () => undefined,
): Promise<Cluster> {
  const cluster = await startCluster({ at: AT, controllers: [statefulSetController] });
  await before(cluster);
  await cluster.seed(statefulSetKind, {
    metadata: { name: "db", generation: 1 },
    spec: {
      replicas: 3,
      serviceName: "db",
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "one" }] } },
      ...spec,
    },
  });
  return cluster;
}

async function run(cluster: Cluster, name: string): Promise<void> {
  const lastTransitionTime = new Date(cluster.clock.nowMs()).toISOString().replace(".000", "");
  await cluster.edit(podKind, name, (pod) => {
    pod.spec.nodeName = "node";
    pod.status.phase = "Running";
    pod.status.conditions = [{ type: "Ready", status: "True", lastTransitionTime }];
  });
}

async function finishDeletes(cluster: Cluster): Promise<readonly string[]> {
  const gone = cluster
    .list(podKind)
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map(({ metadata }) => metadata.name ?? "");
  for (const name of gone)
    await cluster.client.delete(podKind, { namespace: "default", name }, { gracePeriodSeconds: 0 });
  await cluster.settle();
  return gone;
}

const image = (cluster: Cluster, name: string): string =>
  cluster.get(podKind, name)?.spec.containers?.[0]?.image ?? "none";

describe("stateful set", () => {
  test("in order: each waits until the one before is ready", async () => {
    await using cluster = await start();
    for (const [index, name] of ["db-0", "db-1", "db-2"].entries()) {
      assert.equal(cluster.names(podKind).length, index + 1);
      await run(cluster, name);
    }
    assert.deepEqual(cluster.names(podKind), ["db-0", "db-1", "db-2"]);
    const pod = cluster.get(podKind, "db-1")!;
    assert.deepEqual([pod.spec.hostname, pod.spec.subdomain], ["db-1", "db"]);
    assert.equal(pod.metadata.labels?.["statefulset.kubernetes.io/pod-name"], "db-1");
    assert.equal(pod.metadata.labels?.["apps.kubernetes.io/pod-index"], "1");
    const { status } = cluster.get(statefulSetKind, "db")!;
    assert.deepEqual(
      [status.replicas, status.readyReplicas, status.currentReplicas, status.updatedReplicas],
      [3, 3, 3, 3],
    );
    assert.equal(status.currentRevision, status.updateRevision);
    assert.equal(cluster.names(controllerRevisionKind).length, 1);
    assert.equal(cluster.events[0]?.message, "Create Pod db-0 in StatefulSet db successful");
  });

  test("in parallel: none waits", async () => {
    await using cluster = await start({ podManagementPolicy: "Parallel" });
    assert.deepEqual(cluster.names(podKind), ["db-0", "db-1", "db-2"]);
  });

  test("ordinals may start elsewhere", async () => {
    await using cluster = await start({
      podManagementPolicy: "Parallel",
      replicas: 2,
      ordinals: { start: 5 },
    });
    assert.deepEqual(cluster.names(podKind), ["db-5", "db-6"]);
  });

  test("scales down from the top, one by one", async () => {
    await using cluster = await start();
    for (const name of ["db-0", "db-1", "db-2"]) await run(cluster, name);
    await cluster.edit(statefulSetKind, "db", (set) => void (set.spec.replicas = 1));
    assert.deepEqual(await finishDeletes(cluster), ["db-2"]);
    assert.deepEqual(await finishDeletes(cluster), ["db-1"]);
    assert.deepEqual(await finishDeletes(cluster), []);
    assert.deepEqual(cluster.names(podKind), ["db-0"]);
  });

  test("a rolling update goes from the top and waits for each, down to the partition", async () => {
    await using cluster = await start({
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } },
    });
    for (const name of ["db-0", "db-1", "db-2"]) await run(cluster, name);
    await cluster.edit(
      statefulSetKind,
      "db",
      (set) => void (set.spec.template.spec.containers![0]!.image = "two"),
    );
    for (const name of ["db-2", "db-1"]) {
      assert.deepEqual(await finishDeletes(cluster), [name]);
      assert.equal(image(cluster, name), "two");
      assert.deepEqual(await finishDeletes(cluster), []);
      await run(cluster, name);
    }
    assert.deepEqual(await finishDeletes(cluster), []);
    assert.equal(image(cluster, "db-0"), "one");
    await cluster.client.delete(
      podKind,
      { namespace: "default", name: "db-0" },
      { gracePeriodSeconds: 0 },
    );
    await cluster.settle();
    assert.equal(image(cluster, "db-0"), "one");
    await run(cluster, "db-0");
    await cluster.edit(
      statefulSetKind,
      "db",
      (set) => void (set.spec.updateStrategy.rollingUpdate!.partition = 0),
    );
    assert.deepEqual(await finishDeletes(cluster), ["db-0"]);
    await run(cluster, "db-0");
    const { status } = cluster.get(statefulSetKind, "db")!;
    assert.deepEqual(
      [status.updatedReplicas, status.currentRevision === status.updateRevision],
      [3, true],
    );
  });

  test("OnDelete: old pods stay until they are deleted", async () => {
    await using cluster = await start({ replicas: 1, updateStrategy: { type: "OnDelete" } });
    await run(cluster, "db-0");
    await cluster.edit(
      statefulSetKind,
      "db",
      (set) => void (set.spec.template.spec.containers![0]!.image = "two"),
    );
    assert.deepEqual(await finishDeletes(cluster), []);
    await cluster.client.delete(
      podKind,
      { namespace: "default", name: "db-0" },
      { gracePeriodSeconds: 0 },
    );
    await cluster.settle();
    assert.equal(image(cluster, "db-0"), "two");
  });

  test("a failed pod is replaced", async () => {
    await using cluster = await start({ replicas: 1 });
    const before = cluster.get(podKind, "db-0")?.metadata.uid;
    await cluster.edit(podKind, "db-0", (pod) => void (pod.status.phase = "Failed"));
    await finishDeletes(cluster);
    assert.notEqual(cluster.get(podKind, "db-0")?.metadata.uid, before);
  });

  test("minReadySeconds holds the next one back", async () => {
    await using cluster = await start({ minReadySeconds: 10 });
    await run(cluster, "db-0");
    assert.deepEqual(cluster.names(podKind), ["db-0"]);
    await cluster.advance(10_000);
    assert.deepEqual(cluster.names(podKind), ["db-0", "db-1"]);
  });

  test("claims come with the pod, stay when it goes, and go with it if the policy says so", async () => {
    const volumeClaimTemplates = [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ];
    await using cluster = await start({
      replicas: 2,
      podManagementPolicy: "Parallel",
      volumeClaimTemplates,
    });
    assert.deepEqual(cluster.names(persistentVolumeClaimKind), ["data-db-0", "data-db-1"]);
    assert.equal(
      cluster.get(podKind, "db-1")?.spec.volumes?.[0]?.persistentVolumeClaim?.claimName,
      "data-db-1",
    );
    assert.equal(
      cluster.get(persistentVolumeClaimKind, "data-db-1")?.metadata.ownerReferences,
      undefined,
    );
    await cluster.edit(statefulSetKind, "db", (set) => {
      set.spec.persistentVolumeClaimRetentionPolicy = {
        whenDeleted: "Delete",
        whenScaled: "Delete",
      };
    });
    const owner = (name: string) =>
      cluster
        .get(persistentVolumeClaimKind, name)
        ?.metadata.ownerReferences?.map(({ kind }) => kind);
    assert.deepEqual(owner("data-db-1"), ["StatefulSet"]);
    for (const name of ["db-0", "db-1"]) await run(cluster, name);
    await cluster.edit(statefulSetKind, "db", (set) => void (set.spec.replicas = 1));
    assert.deepEqual(owner("data-db-1"), ["Pod"]);
    assert.deepEqual(owner("data-db-0"), ["StatefulSet"]);
  });

  test("a pod of another owner has the name: the set waits and records no Event", async () => {
    const rival = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "u", controller: true };
    await using cluster = await start({ replicas: 1 }, (empty) =>
      empty.seed(podKind, {
        metadata: { name: "db-0", labels, ownerReferences: [rival] },
        spec: { containers: [{ name: "c", image: "other" }] },
      }),
    );
    await cluster.advance(60_000);
    const { status } = cluster.get(statefulSetKind, "db")!;
    const [revision] = cluster.names(controllerRevisionKind);
    assert.deepEqual(status, {
      observedGeneration: 1,
      replicas: 0,
      availableReplicas: 0,
      currentRevision: revision,
      updateRevision: revision,
      collisionCount: 0,
    });
    assert.deepEqual(cluster.events, []);
    const key = { namespace: "default", name: "db-0" };
    assert.ok((await cluster.client.delete(podKind, key, { gracePeriodSeconds: 0 })).ok);
    await cluster.advance(1_000_000);
    assert.equal(image(cluster, "db-0"), "one");
  });

  test("one that takes the place of another goes on with its pods and its history", async () => {
    await using cluster = await start({ replicas: 1 });
    await run(cluster, "db-0");
    const [revision] = cluster.names(controllerRevisionKind);
    const orphan = (object: { metadata: { ownerReferences?: unknown } }): void =>
      void delete object.metadata.ownerReferences;
    const { spec } = cluster.get(statefulSetKind, "db")!;
    await cluster.client.delete(statefulSetKind, { namespace: "default", name: "db" });
    await cluster.settle();
    await cluster.edit(controllerRevisionKind, revision!, orphan);
    await cluster.edit(podKind, "db-0", orphan);
    await cluster.seed(statefulSetKind, { metadata: { name: "db" }, spec });
    assert.deepEqual(cluster.names(controllerRevisionKind), [revision]);
    const { metadata, status } = cluster.get(statefulSetKind, "db")!;
    assert.deepEqual([status.currentRevision, status.collisionCount], [revision, 0]);
    const kept = cluster.get(controllerRevisionKind, revision!);
    assert.equal(kept?.metadata.ownerReferences?.[0]?.uid, metadata.uid);
  });

  test("a change of persistentVolumeClaimRetentionPolicy is recorded as an update of the pod", async () => {
    await using cluster = await start({
      replicas: 1,
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    });
    await run(cluster, "db-0");
    const before = cluster.events.length;
    await cluster.edit(statefulSetKind, "db", (draft) => {
      draft.spec.persistentVolumeClaimRetentionPolicy = { whenDeleted: "Delete" };
    });
    const ownerOf = (claim: string) =>
      cluster.get(persistentVolumeClaimKind, claim)?.metadata.ownerReferences?.[0]?.kind;
    assert.equal(ownerOf("data-db-0"), "StatefulSet");
    assert.deepEqual(
      cluster.events.slice(before).map(({ message }) => message),
      ["Update Pod db-0 in StatefulSet db successful"],
    );
    // Claims that come later are right from the start.
    await cluster.edit(statefulSetKind, "db", (draft) => void (draft.spec.replicas = 2));
    await run(cluster, "db-1");
    assert.equal(ownerOf("data-db-1"), "StatefulSet");
    assert.deepEqual(
      cluster.events.slice(before + 1).map(({ message }) => message),
      [
        "Create Claim data-db-1 Pod db-1 in StatefulSet db success",
        "Create Pod db-1 in StatefulSet db successful",
      ],
    );
  });
});

describe("a claim with another controller", () => {
  const template = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "u", controller: true };
  const conflictOf = async (policy: "Retain" | "Delete", controller: boolean) => {
    const seeded = {
      ...template,
      metadata: { name: "data-db-0", ownerReferences: [{ ...other, controller }] },
    };
    await using cluster = await start(
      {
        volumeClaimTemplates: [template],
        persistentVolumeClaimRetentionPolicy: { whenDeleted: policy, whenScaled: "Retain" },
      },
      (c) => c.seed(persistentVolumeClaimKind, seeded),
    );
    const owners = cluster.get(persistentVolumeClaimKind, "data-db-0")?.metadata.ownerReferences;
    const conflicts = cluster.events.filter(({ reason }) => reason === "ConflictingController");
    return [conflicts[0]?.message, owners?.map(({ kind }) => kind)];
  };

  test("records an Event and is left alone", async () => {
    const message =
      "PersistentVolumeClaim data-db-0 has a conflicting OwnerReference that acts as a manging " +
      "controller, the retention policy is ignored for this claim";
    assert.deepEqual(await conflictOf("Delete", true), [message, ["ConfigMap"]]);
  });
  test("matters only if claims are to be deleted", async () => {
    assert.deepEqual(await conflictOf("Retain", true), [undefined, ["ConfigMap"]]);
  });
  test("is none if its owner does not control it", async () => {
    assert.deepEqual(await conflictOf("Delete", false), [undefined, ["ConfigMap", "StatefulSet"]]);
  });
});
