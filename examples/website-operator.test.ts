/** An operator in a whole cluster: the garbage collector, the scheduler and nodes do their part. */
import assert from "node:assert/strict";
import { builtInKind, startCluster } from "k8ts/testing";
import { test } from "vitest";
import { websiteDefinition, websiteOperator } from "./website-operator.ts";

const podKind = builtInKind("v1", "Pod");
const serviceKind = builtInKind("v1", "Service");

const site = (replicas: number): string => `
apiVersion: example.com/v1
kind: Website
metadata: { name: shop }
spec: { image: shop, replicas: ${replicas} }
`;

test("the example operator: a Website has its pods and Service, follows its replicas, and takes them along", async () => {
  const cluster = await startCluster({
    nodes: 2,
    manifests: websiteDefinition,
    controllers: [websiteOperator],
  });
  try {
    await cluster.apply(site(3));
    await cluster.until(() => cluster.list(podKind, "default").length === 3, "1m");
    assert.ok(cluster.get(serviceKind, "shop"));

    cluster.faults.dropWatches(); // the operator must not miss what comes next
    await cluster.apply(site(1));
    await cluster.until(() => cluster.list(podKind, "default").length === 1, "1m");

    const path = "/apis/example.com/v1/namespaces/default/websites/shop";
    const found = await cluster.client.raw(path);
    assert.ok(found.ok);
    assert.deepEqual((found.value as { status: unknown }).status, { ready: 1 });

    const websites = { group: "example.com", version: "v1", apiVersion: "example.com/v1" };
    const kind = {
      ...websites,
      scope: "Namespaced",
      names: { kind: "Website", plural: "websites" },
    } as const;
    await cluster.client.delete(kind, { namespace: "default", name: "shop" });
    await cluster.until(() => cluster.list(podKind, "default").length === 0, "2m");
    assert.equal(cluster.get(serviceKind, "shop"), undefined);
  } finally {
    await cluster[Symbol.asyncDispose]();
  }
});
