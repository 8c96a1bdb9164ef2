import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "vitest";
import type { Kind } from "#api/kind.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/test-cluster.ts";
import { applyManifests, FIELD_MANAGER } from "./apply-manifests.ts";
import { readInventory } from "./manifest-inventory.ts";

const KINDS: Readonly<Record<string, Kind>> = {
  ...{ ConfigMap: configMapKind, Secret: secretKind, Namespace: namespaceKind },
};
const signal = new AbortController().signal;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "k8ts-manifests-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("k8ts up --manifests: objects are applied, changed with their file, and pruned when they are removed from it", async () => {
  await using cluster = await startCluster();
  await write("a.yaml", `${configMap("one", "1")}---\n${configMap("two", "2")}`);
  assert.deepEqual(await pass(cluster), []);
  assert.deepEqual(await values(cluster), { one: "1", two: "2" });
  await write("a.yaml", configMap("one", "changed"));
  assert.deepEqual(await pass(cluster), []);
  assert.deepEqual(await values(cluster), { one: "changed" });
  await rm(join(folder, "a.yaml"));
  assert.deepEqual(await pass(cluster), []);
  assert.deepEqual(await values(cluster), {});
});

test("k8ts up --manifests: a file with a syntax error is reported with its name, and its objects stay", async () => {
  await using cluster = await startCluster();
  await write("a.yaml", configMap("one", "1"));
  await write("b.yaml", configMap("two", "2"));
  await pass(cluster);
  await write("a.yaml", "kind: [");
  await write("b.yaml", configMap("three", "3"));
  const [fault = "", ...more] = await pass(cluster);
  assert.ok(fault.startsWith(join(folder, "a.yaml")), fault);
  assert.deepEqual(more, []);
  assert.deepEqual(await values(cluster), { one: "1", three: "3" });
  const { faults } = await readInventory(clientOf(cluster), "manifests", signal);
  assert.deepEqual(faults, [fault]);
});

test("k8ts up --manifests: a refused object and a kind that is not served are reported, the others are applied", async () => {
  await using cluster = await startCluster();
  await write("a.yaml", `${configMap("Upper", "1")}---\n${configMap("one", "1")}`);
  await write("b.yaml", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n");
  const faults = await pass(cluster);
  assert.equal(faults.length, 2);
  assert.match(faults[0]!, /no matches for kind "Thing" in version "example.com\/v1"/);
  assert.match(faults[1]!, /ConfigMap default\/Upper: .*metadata.name: Invalid value/);
  assert.deepEqual(await values(cluster), { one: "1" });
});

test("k8ts up --manifests: an object that another client recreated is not pruned", async () => {
  await using cluster = await startCluster();
  await write("a.yaml", configMap("one", "1"));
  await pass(cluster);
  const key = { namespace: "default", name: "one" };
  await cluster.client.delete(configMapKind, key);
  const anew = { metadata: { ...key, labels: { test: "yes" } }, data: { value: "own" } };
  await cluster.client.create(configMapKind, { apiVersion: "v1", kind: "ConfigMap", ...anew });
  await rm(join(folder, "a.yaml"));
  assert.deepEqual(await pass(cluster), []);
  assert.deepEqual(await values(cluster), { one: "own" });
});

test("k8ts up --manifests: a Namespace with nothing but a name, of which no field is owned, is pruned, but not one of that name that another client recreated", async () => {
  await using cluster = await startCluster();
  const manifest = (name: string): string =>
    `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n`;
  await write("a.yaml", manifest("shop"));
  await write("b.yaml", manifest("other"));
  assert.deepEqual(await pass(cluster), []);
  assert.deepEqual(await pass(cluster), []);
  await cluster.client.delete(namespaceKind, { name: "other" });
  await cluster.settle();
  const anew = { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } };
  assert.ok((await cluster.client.create(namespaceKind, completed(namespaceKind, anew))).ok);
  await rm(join(folder, "a.yaml"));
  await rm(join(folder, "b.yaml"));
  assert.deepEqual(await pass(cluster), []);
  await cluster.settle();
  const names = cluster.names(namespaceKind);
  assert.deepEqual([names.includes("shop"), names.includes("other")], [false, true]);
});

function write(file: string, text: string): Promise<void> {
  return writeFile(join(folder, file), text);
}

function configMap(name: string, value: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, labels: {test: "yes"}}\ndata: {value: "${value}"}\n`;
}

function clientOf(cluster: Cluster) {
  return cluster.client.as(FIELD_MANAGER);
}

function pass(cluster: Cluster): Promise<readonly string[]> {
  const options = {
    ...{ client: clientOf(cluster), folders: [folder], inventory: "manifests" },
    findKind: (_apiVersion: string, kind: string) => KINDS[kind],
  };
  return applyManifests(options, signal);
}

async function values(cluster: Cluster): Promise<Record<string, string>> {
  const found = await cluster.client.list(configMapKind, { labelSelector: "test=yes" });
  assert.ok(found.ok);
  return Object.fromEntries(
    found.value.items.map(({ metadata, data }) => [metadata.name ?? "", data?.value ?? ""]),
  );
}
