import assert from "node:assert/strict";
import { test } from "vitest";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { widgetKind } from "#apiserver/registry/widget-kind.testing.ts";
import { silentLogger } from "#lib/logger.ts";
import { followResources } from "#runtime/follow-resources.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { garbageCollector } from "./garbage-collector.ts";
import { resourceQuotaController } from "./resource-quota.ts";

const SETTLED_MS = 2_000;

test("garbage collector and ResourceQuota follow a kind that comes and goes", async () => {
  const resources = new ResourceSet();
  await using cluster = await startCluster({
    controllers: [garbageCollector(resources), resourceQuotaController(undefined, resources)],
  });
  using _following = follow(cluster, resources);
  await cluster.settle();
  assert.equal(has(resources), false);

  const widgets: KindOf<KubeObject> = widgetKind();
  await cluster.kinds.add({ kinds: [widgets] });
  const owner = await cluster.seed(configMapKind, { metadata: { name: "owner" } });
  await cluster.seed(widgets, { metadata: { name: "w1", ownerReferences: [refTo(owner)] } });
  await cluster.seed(widgets, { metadata: { name: "w2" } });
  const hard = { "count/widgets.example.com": "5" };
  await cluster.seed(resourceQuotaKind, { metadata: { name: "q" }, spec: { hard } });
  await announce(cluster, "v1.example.com");
  assert.equal(has(resources), true);
  assert.deepEqual(usedBy(cluster), { "count/widgets.example.com": "2" });

  await cluster.client.delete(configMapKind, { namespace: "default", name: "owner" });
  await cluster.settle();
  assert.deepEqual(cluster.names(widgets), ["w2"]);
  assert.deepEqual(usedBy(cluster), { "count/widgets.example.com": "1" });

  await cluster.kinds.remove("example.com", "widgets");
  await announce(cluster, "v2.example.com");
  assert.equal(has(resources), false);
  assert.throws(() => [...cluster.runtime.cache(widgets).byIndex("owner", "x")], /no index/);
  assert.equal(cluster.runtime.busy, 0);
});

function has(resources: ResourceSet): boolean {
  return resources.all().some(({ group }) => group === "example.com");
}

function usedBy(cluster: Cluster): unknown {
  return cluster.get(resourceQuotaKind, "q")?.status.used;
}

/** A change of an APIService makes controllers look for new resources. */
async function announce(cluster: Cluster, name: string): Promise<void> {
  const [version = "", ...group] = name.split(".");
  const spec = { group: group.join("."), version, groupPriorityMinimum: 1000, versionPriority: 1 };
  await cluster.seed(apiServiceKind, { metadata: { name }, spec });
  await cluster.advance(SETTLED_MS);
  await cluster.settle();
}

function refTo({ metadata }: KubeObject) {
  const { name = "", uid = "" } = metadata;
  return { apiVersion: "v1", kind: "ConfigMap", name, uid };
}

function follow(one: Cluster, set: ResourceSet): Disposable {
  const life = new AbortController();
  const { client: reader, clock, runtime, metrics } = one;
  const incomplete = metrics.counter({ name: "incomplete", help: "of the test" })();
  const onChange = runtime.onChange.bind(runtime);
  followResources(
    { reader, resources: set, onChange, incomplete, clock, logger: silentLogger },
    life.signal,
  );
  return { [Symbol.dispose]: () => life.abort() };
}
