import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CustomResourceDefinition } from "#api/generated/apiextensions.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { customResourceDefinitionKind } from "#api/kinds/apiextensions/v1/custom-resource-definition.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { storageVersionMigrationKind } from "#api/kinds/storagemigration/v1beta1/storage-version-migration.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { storageVersionMigrator } from "./storage-version-migrator.ts";

const WIDGETS = { group: "example.com", resource: "widgets" };
const widgetRef = (version: string) => ({
  ...{ group: "example.com", version, apiVersion: `example.com/${version}` },
  scope: "Namespaced" as const,
  names: { kind: "Widget", plural: "widgets" },
});

describe("StorageVersionMigration", () => {
  test("objects of a custom resource are stored in the new version, storedVersions has that one only", async () => {
    await using cluster = await startCluster({ controllers: [storageVersionMigrator] });
    await define(cluster, "v1");
    for (const name of ["a", "b", "c"]) await createWidget(cluster, name);
    await storeIn(cluster, "v2");
    assert.deepEqual(definitionOf(cluster).status.storedVersions, ["v1", "v2"]);
    const before = await versions(cluster);

    await migrate(cluster, "m", WIDGETS);
    assert.deepEqual(conditionsOf(cluster, "m"), {
      Running: "False MigrationCompleted",
      Succeeded: "True StorageVersionMigrationSucceeded",
    });
    const { status, metadata } = definitionOf(cluster);
    assert.deepEqual(status.storedVersions, ["v2"]);
    const { lastTransitionTime: _, ...condition } = status.conditions!.find(
      ({ type }) => type === "StorageMigrating",
    )!;
    assert.deepEqual(condition, {
      type: "StorageMigrating",
      status: "False",
      reason: "MigrationSucceeded",
      message: "The migration has succeeded and the stored versions have been updated",
      observedGeneration: metadata.generation,
    });
    const after = await versions(cluster);
    assert.deepEqual(Object.keys(after), ["a", "b", "c"]);
    for (const [name, version] of Object.entries(after)) assert.notEqual(version, before[name]);
    const managers = (await widgets(cluster)).flatMap((one) => one.metadata.managedFields ?? []);
    assert.deepEqual(new Set(managers.map(({ manager }) => manager)), new Set(["test"]));
  });

  test("a second migration of a resource waits for the first, and rewrites nothing that is stored as it should be", async () => {
    await using cluster = await startCluster({ controllers: [storageVersionMigrator] });
    await define(cluster, "v1");
    await createWidget(cluster, "a");
    await storeIn(cluster, "v2");
    await migrate(cluster, "first", WIDGETS);
    const migrated = await versions(cluster);
    await migrate(cluster, "second", WIDGETS);
    assert.match(conditionsOf(cluster, "second").Succeeded ?? "", /^True/);
    assert.deepEqual(await versions(cluster), migrated);
  });

  test("a built-in resource", async () => {
    await using cluster = await startCluster({ controllers: [storageVersionMigrator] });
    await cluster.seed(configMapKind, { metadata: { name: "one" }, data: { a: "b" } });
    await migrate(cluster, "m", { group: "", resource: "configmaps" });
    assert.match(conditionsOf(cluster, "m").Succeeded ?? "", /^True/);
    assert.deepEqual(cluster.get(configMapKind, "one")?.data, { a: "b" });
  });

  test("a resource that is not served fails after a minute, one without the verbs at once", async () => {
    await using cluster = await startCluster({ controllers: [storageVersionMigrator] });
    await migrate(cluster, "absent", { group: "example.com", resource: "nothings" });
    assert.deepEqual(conditionsOf(cluster, "absent"), {});
    await cluster.advance(61_000);
    assert.deepEqual(messages(cluster, "absent"), ["resource does not exist in discovery"]);
    const resource = { group: "authorization.k8s.io", resource: "subjectaccessreviews" };
    await migrate(cluster, "review", resource);
    assert.deepEqual(messages(cluster, "review"), [
      'resource "authorization.k8s.io/v1, Resource=subjectaccessreviews" does not support discovery operations: [update patch list]',
    ]);
  });
});

async function define(cluster: Cluster, storage: string): Promise<void> {
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
    },
  };
  const version = (name: string) => ({ name, served: true, storage: name === storage, schema });
  const created = await cluster.client.create(customResourceDefinitionKind, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget" },
      versions: [version("v1"), version("v2")],
    },
    status: { acceptedNames: { plural: "", kind: "" }, conditions: null, storedVersions: null },
  });
  assert.ok(created.ok, JSON.stringify(created));
  for (let round = 0; round < 100; round++) {
    const { status } = definitionOf(cluster);
    if (status.conditions?.some(({ type }) => type === "Established")) return;
    await cluster.settle();
  }
  throw new Error("the definition was not established");
}

async function storeIn(cluster: Cluster, version: string): Promise<void> {
  const old = definitionOf(cluster);
  const stored = old.spec.versions?.map((one) => ({ ...one, storage: one.name === version }));
  const patched = await cluster.client.patch(
    customResourceDefinitionKind,
    { name: "widgets.example.com" },
    "merge",
    { spec: { versions: stored } },
  );
  assert.ok(patched.ok);
  for (let round = 0; round < 20; round++) await cluster.settle();
}

async function createWidget(cluster: Cluster, name: string): Promise<void> {
  const metadata = { namespace: "default", name };
  const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata, spec: { size: 1 } };
  const created = await cluster.client.create<KubeObject>(widgetRef("v1"), widget, {
    fieldManager: "test",
  });
  assert.ok(created.ok);
}

async function migrate(
  cluster: Cluster,
  name: string,
  resource: { group: string; resource: string },
): Promise<void> {
  const created = await cluster.client.create(storageVersionMigrationKind, {
    metadata: { name },
    spec: { resource },
    status: {},
  });
  assert.ok(created.ok);
  for (let round = 0; round < 20; round++) await cluster.settle();
}

function definitionOf(cluster: Cluster): CustomResourceDefinition {
  return cluster.get(customResourceDefinitionKind, "widgets.example.com")!;
}

function conditionsOf(cluster: Cluster, name: string): Record<string, string> {
  const { conditions = [] } = cluster.get(storageVersionMigrationKind, name)!.status;
  return Object.fromEntries(
    conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );
}

function messages(cluster: Cluster, name: string): string[] {
  const { conditions = [] } = cluster.get(storageVersionMigrationKind, name)!.status;
  return conditions.map(({ message }) => message);
}

async function widgets(cluster: Cluster): Promise<readonly KubeObject[]> {
  const list = await cluster.client.list<KubeObject>(widgetRef("v1"));
  assert.ok(list.ok);
  return list.value.items;
}

async function versions(cluster: Cluster): Promise<Record<string, string | undefined>> {
  const items = await widgets(cluster);
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}
