import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { defineController } from "#runtime/controller.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { garbageCollector } from "./garbage-collector.ts";
import { replicaSetController } from "./replica-set.ts";

const WATCHED = [configMapKind, namespaceKind, podKind, replicaSetKind, deploymentKind];
const newCollector = (workers?: number) => garbageCollector(new ResourceSet(WATCHED), workers);

function owner(of: ConfigMap, block = true): OwnerReference {
  const { name = "", uid = "" } = of.metadata;
  return { apiVersion: "v1", kind: "ConfigMap", name, uid, blockOwnerDeletion: block };
}

async function map(
  cluster: Cluster,
  name: string,
  ...owners: OwnerReference[]
): Promise<ConfigMap> {
  return await cluster.seed(configMapKind, {
    metadata: { name, ...(owners.length > 0 ? { ownerReferences: owners } : {}) },
  });
}

const remove = async (
  cluster: Cluster,
  name: string,
  propagation: "Background" | "Foreground" | "Orphan",
) => {
  await cluster.client.delete(configMapKind, { namespace: "default", name }, { propagation });
  await cluster.settle();
};

describe("controller: garbage collector in a cluster", () => {
  test("background: the owner goes at once, its dependents and theirs follow", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const a = await map(cluster, "a");
    const b = await map(cluster, "b", owner(a));
    await map(cluster, "c", owner(b));
    await map(cluster, "free");
    await remove(cluster, "a", "Background");
    assert.deepEqual(cluster.names(configMapKind), ["free"]);
  });

  test("foreground: the owner waits for the dependents that block it", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const a = await map(cluster, "a");
    await map(cluster, "b", owner(a));
    await cluster.edit(
      configMapKind,
      "b",
      (m) => void (m.metadata.finalizers = ["example.com/hold"]),
    );
    await remove(cluster, "a", "Foreground");
    assert.deepEqual(cluster.names(configMapKind), ["a", "b"]);
    const b = { namespace: "default", name: "b" };
    await cluster.client.patch(configMapKind, b, "merge", { metadata: { finalizers: null } });
    await cluster.settle();
    assert.deepEqual(cluster.names(configMapKind), []);
  });

  test("orphan: the dependents stay, without their owner", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const a = await map(cluster, "a");
    await map(cluster, "b", owner(a));
    await remove(cluster, "a", "Orphan");
    assert.deepEqual(cluster.names(configMapKind), ["b"]);
    assert.equal(cluster.get(configMapKind, "b")?.metadata.ownerReferences, undefined);
  });

  test("a circle of two goes when one is deleted in the foreground", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const a = await map(cluster, "a");
    const b = await map(cluster, "b", owner(a));
    await cluster.edit(configMapKind, "a", (m) => void (m.metadata.ownerReferences = [owner(b)]));
    await remove(cluster, "a", "Foreground");
    await cluster.advance(5_000);
    assert.deepEqual(cluster.names(configMapKind), []);
  });

  test("owners that never were, or have another uid, or live elsewhere, do not count", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const a = await map(cluster, "a");
    await map(cluster, "ghost", { apiVersion: "v1", kind: "ConfigMap", name: "absent", uid: "x" });
    await map(cluster, "impostor", { ...owner(a), uid: "another" });
    const elsewhere = await cluster.seed(configMapKind, {
      metadata: { name: "far", namespace: "other" },
    });
    await map(cluster, "strayed", owner(elsewhere));
    await map(cluster, "half", owner(a), {
      apiVersion: "v1",
      kind: "ConfigMap",
      name: "absent",
      uid: "x",
    });
    await cluster.settle();
    assert.deepEqual(cluster.names(configMapKind, "default"), ["a", "half"]);
    assert.deepEqual(cluster.get(configMapKind, "half")?.metadata.ownerReferences, [owner(a)]);
  });

  test("the server is asked once about an absent owner, however many dependents it had", async () => {
    const collector = newCollector(1);
    let gets = 0;
    const counted = defineController({
      ...collector,
      observe: (caches, key, reader, remembered, moment) => {
        const get: typeof reader.get = (...asked) => {
          gets += 1;
          return reader.get(...asked);
        };
        const { list, watch, ask, raw } = reader;
        return collector.observe(caches, key, { get, list, watch, ask, raw }, remembered, moment);
      },
    });
    await using cluster = await startCluster({ controllers: [counted] });
    const a = await map(cluster, "a");
    for (let i = 0; i < 10; i++) await map(cluster, `of-a-${i}`, owner(a));
    await cluster.settle();
    const before = gets;
    await remove(cluster, "a", "Background");
    assert.deepEqual(cluster.names(configMapKind), []);
    assert.equal(gets - before, 1);
  });

  test("an owner by its uid alone is none: its name must be right too", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const a = await map(cluster, "a");
    await map(cluster, "misnamed", { ...owner(a), name: "other" });
    assert.deepEqual(cluster.names(configMapKind), ["a"]);
  });

  test("a cluster-scoped object with a namespaced owner is kept, and OwnerRefInvalidNamespace is recorded", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const a = await map(cluster, "a");
    await cluster.seed(namespaceKind, {
      metadata: { name: "home", ownerReferences: [owner(a)] },
    });
    await remove(cluster, "a", "Background");
    assert.deepEqual(cluster.names(namespaceKind), ["home"]);
    assert.deepEqual(
      cluster.events.map(({ reason, message }) => `${reason} ${message}`),
      [
        `OwnerRefInvalidNamespace ownerRef [v1/ConfigMap, namespace: , name: a, uid: ${a.metadata.uid}] does not exist in namespace ""`,
      ],
    );
  });

  test("an owner in an API version that is not served: the dependent is kept", async () => {
    const served = WATCHED.map((kind) => ({ ...kind, groupVersions: [kind.apiVersion] }));
    const strict = garbageCollector(new ResourceSet(served));
    await using cluster = await startCluster({ controllers: [strict] });
    const a = await map(cluster, "a");
    await map(cluster, "b", { ...owner(a), apiVersion: "v9" });
    await remove(cluster, "a", "Background");
    assert.deepEqual(cluster.names(configMapKind), ["b"]);
  });

  test("an owner may be cluster-wide", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const home = await cluster.seed(namespaceKind, { metadata: { name: "home" } });
    await map(cluster, "kept", {
      apiVersion: "v1",
      kind: "Namespace",
      name: "home",
      uid: home.metadata.uid ?? "",
    });
    assert.deepEqual(cluster.names(configMapKind), ["kept"]);
  });

  test("a deleted deployment takes its sets and pods along", async () => {
    await using cluster = await startCluster({
      controllers: [newCollector(), deploymentController, replicaSetController],
    });
    const labels = { app: "web" };
    await cluster.seed(deploymentKind, {
      metadata: { name: "web" },
      spec: {
        replicas: 3,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    });
    assert.equal(cluster.names(podKind).length, 3);
    await cluster.client.delete(
      deploymentKind,
      { namespace: "default", name: "web" },
      { propagation: "Foreground" },
    );
    await cluster.advance(2_000);
    assert.deepEqual(
      [cluster.names(deploymentKind), cluster.names(replicaSetKind), cluster.names(podKind)],
      [[], [], []],
    );
  });

  test("foreground: what has another owner stays, and lets the first one go", async () => {
    await using cluster = await startCluster({ controllers: [newCollector()] });
    const [a, z] = [await map(cluster, "a"), await map(cluster, "z")];
    await map(cluster, "only-a", owner(a));
    await map(cluster, "both", owner(a));
    const ownerReferences = [owner(a), owner(z)];
    await cluster.client.patch(configMapKind, { namespace: "default", name: "both" }, "merge", {
      metadata: { ownerReferences },
    });
    await remove(cluster, "a", "Foreground");
    assert.deepEqual(cluster.names(configMapKind), ["both", "z"]);
    const left = cluster.list(configMapKind).find(({ metadata }) => metadata.name === "both");
    assert.deepEqual(left?.metadata.ownerReferences, [owner(z)]);
  });
});
