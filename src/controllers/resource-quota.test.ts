import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { type Draft, startCluster } from "#testing/cluster.ts";
import { resourceQuotaController } from "./resource-quota.ts";

function pod(name: string, cpu?: string): Draft<Pod> {
  const resources = cpu === undefined ? {} : { requests: { cpu } };
  return { metadata: { name }, spec: { containers: [{ name: "c", image: "i", resources }] } };
}

test("resource quota: counts what is there, gives back what goes or finishes, counts again by itself", async () => {
  await using cluster = await startCluster({ controllers: [resourceQuotaController()] });
  for (const [name, cpu] of [
    ["a", "500m"],
    ["b", "1"],
  ] as const)
    await cluster.seed(podKind, pod(name, cpu));
  await cluster.seed(configMapKind, { metadata: { name: "m" } });
  const hard = { pods: "5", "requests.cpu": "4", configmaps: "3", "count/secrets": "1" };
  await cluster.seed(resourceQuotaKind, { metadata: { name: "q" }, spec: { hard } });
  const used = () => cluster.get(resourceQuotaKind, "q")?.status.used;
  assert.deepEqual(used(), {
    configmaps: "1",
    "count/secrets": "0",
    pods: "2",
    "requests.cpu": "1500m",
  });
  assert.deepEqual(cluster.get(resourceQuotaKind, "q")?.status.hard, hard);
  await cluster.edit(podKind, "b", (p) => void (p.status.phase = "Succeeded"));
  assert.deepEqual([used()?.pods, used()?.["requests.cpu"]], ["1", "500m"]);
  await cluster.client.delete(
    podKind,
    { namespace: "default", name: "a" },
    { gracePeriodSeconds: 0 },
  );
  await cluster.settle();
  assert.deepEqual([used()?.pods, used()?.["requests.cpu"]], ["0", "0"]);
  await cluster.seed(configMapKind, { metadata: { name: "unseen by admission" } });
  assert.equal(used()?.configmaps, "1");
  await cluster.advance(300_000);
  assert.equal(used()?.configmaps, "2");
});

test("resource quota: scopes choose what counts", async () => {
  await using cluster = await startCluster({ controllers: [resourceQuotaController()] });
  await cluster.seed(podKind, pod("best-effort"));
  await cluster.seed(podKind, pod("burstable", "1"));
  await cluster.seed(resourceQuotaKind, {
    metadata: { name: "q" },
    spec: { hard: { pods: "5" }, scopes: ["BestEffort"] },
  });
  assert.deepEqual(cluster.get(resourceQuotaKind, "q")?.status.used, { pods: "1" });
});

test("resource quota: what a status or a type gives back is counted at once", async () => {
  await using cluster = await startCluster({ controllers: [resourceQuotaController()] });
  await cluster.seed(resourceQuotaKind, {
    metadata: { name: "balancers" },
    spec: { hard: { "services.loadbalancers": "2" } },
  });
  const expression = { scopeName: "VolumeAttributesClass", operator: "In", values: ["gold"] };
  await cluster.seed(resourceQuotaKind, {
    metadata: { name: "gold" },
    spec: {
      hard: { persistentvolumeclaims: "2" },
      scopeSelector: { matchExpressions: [expression] },
    },
  });
  await cluster.seed(serviceKind, {
    metadata: { name: "web" },
    spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
  });
  await cluster.seed(persistentVolumeClaimKind, {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  await cluster.edit(persistentVolumeClaimKind, "data", (claim) => {
    claim.status.currentVolumeAttributesClassName = "gold";
  });
  const used = (name: string) =>
    Object.values(cluster.get(resourceQuotaKind, name)?.status.used ?? {});
  assert.deepEqual(used("gold"), ["1"]);
  await cluster.advance(300_000);
  assert.deepEqual(used("balancers"), ["1"]);

  await cluster.edit(serviceKind, "web", (service) => void (service.spec.type = "ClusterIP"));
  assert.deepEqual(used("balancers"), ["0"]);
  await cluster.edit(persistentVolumeClaimKind, "data", (claim) => {
    claim.status.currentVolumeAttributesClassName = "silver";
  });
  assert.deepEqual(used("gold"), ["0"]);
});
