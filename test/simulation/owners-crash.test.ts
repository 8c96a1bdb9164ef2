/**
 * Controllers that die while StatefulSets roll and shrink, owners are deleted in every way, a
 * namespace is emptied, and budgets and quotas are counted: what is left in the end is the same.
 */
import assert from "node:assert/strict";
import { test } from "vitest";
import type { ConfigMap, Namespace } from "#api/generated/core.v1.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { garbageCollector } from "#controllers/garbage-collector.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Mortal } from "./mortal.ts";

const WATCHED = [
  configMapKind,
  controllerRevisionKind,
  deploymentKind,
  persistentVolumeClaimKind,
  podKind,
  replicaSetKind,
  statefulSetKind,
];
const collector = garbageCollector(new ResourceSet(WATCHED));
const key = (name: string) => ({ namespace: "default", name });
const containers = [{ name: "c", image: "one" }];
const template = (app: string) => ({ metadata: { labels: { app } }, spec: { containers } });

/** Every pod runs and is ready; one that is deleted goes. */
async function beKubelet(cluster: Cluster): Promise<void> {
  const now = timeFromMs(cluster.clock.nowMs());
  for (const { metadata, status } of cluster.list(podKind)) {
    const { name = "", namespace, deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined) {
      await cluster.client.delete(podKind, { namespace, name }, { gracePeriodSeconds: 0 });
    } else if (status.phase === "Pending") {
      await cluster.edit(podKind, name, (pod) => {
        pod.spec.nodeName = "n";
        pod.status.phase = "Running";
        pod.status.conditions = [{ type: "Ready", status: "True", lastTransitionTime: now }];
      });
    }
  }
}

function summary(cluster: Cluster): unknown {
  const { status: budget } = cluster.get(podDisruptionBudgetKind, "db")!;
  return {
    pods: cluster
      .list(podKind)
      .map(({ metadata, spec }) => [
        metadata.labels?.app,
        spec.containers?.[0]?.image,
        (metadata.ownerReferences ?? []).length,
      ])
      .sort(),
    claims: cluster.names(persistentVolumeClaimKind),
    sets: cluster.list(replicaSetKind).length,
    revisions: cluster.list(controllerRevisionKind).length,
    maps: cluster.names(configMapKind, "default"),
    namespaces: cluster.names(namespaceKind),
    used: cluster.get(resourceQuotaKind, "all")?.status.used,
    budget: [budget.disruptionsAllowed, budget.currentHealthy, budget.expectedPods],
    stateful: cluster.get(statefulSetKind, "db")?.status.updatedReplicas,
  };
}

async function begin({ client, ...cluster }: Pick<Cluster, "client"> & { seed: Cluster["seed"] }) {
  await cluster.seed(resourceQuotaKind, {
    metadata: { name: "all" },
    spec: { hard: { pods: "20", persistentvolumeclaims: "5" } },
  });
  await cluster.seed(podDisruptionBudgetKind, {
    metadata: { name: "db" },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: "db" } } },
  });
  await cluster.seed(statefulSetKind, {
    metadata: { name: "db", generation: 1 },
    spec: {
      replicas: 2,
      serviceName: "db",
      selector: { matchLabels: { app: "db" } },
      template: template("db"),
      persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Retain" },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: {
            accessModes: ["ReadWriteOnce"],
            resources: { requests: { storage: "1Gi" } },
          },
        },
      ],
    },
  });
  for (const name of ["kept", "lost"]) {
    await cluster.seed(deploymentKind, {
      metadata: { name, generation: 1 },
      spec: { replicas: 2, selector: { matchLabels: { app: name } }, template: template(name) },
    });
  }
  const shop = { metadata: { name: "shop" } } as Namespace;
  await client.create(namespaceKind, shop);
  await client.create(configMapKind, { metadata: { name: "m", namespace: "shop" } } as ConfigMap);
}

async function story(diesAt: number): Promise<{ end: unknown; writes: number }> {
  await using cluster = await startCluster();
  const first = new Mortal(cluster, diesAt, [collector]);
  let current = first;
  const goOn = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await cluster.advance(2_000);
      if (current.isDead) {
        await current.end();
        current = new Mortal(cluster, Number.POSITIVE_INFINITY, [collector]);
        await cluster.advance(2_000);
      }
      await beKubelet(cluster);
    }
  };
  const { client } = cluster;
  await cluster.seed(namespaceKind, { metadata: { name: "default" } });
  await cluster.seed(nodeKind, { metadata: { name: "n" } });
  await begin({ client, seed: cluster.seed.bind(cluster) });
  await goOn(6);
  await cluster.edit(statefulSetKind, "db", (set) => {
    set.spec.template.spec.containers![0]!.image = "two";
    set.metadata.generation = 2;
  });
  await goOn(8);
  await cluster.edit(statefulSetKind, "db", (set) => {
    set.spec.replicas = 1;
    set.metadata.generation = 3;
  });
  await client.delete(deploymentKind, key("lost"), { propagation: "Foreground" });
  await client.delete(deploymentKind, key("kept"), { propagation: "Orphan" });
  await client.delete(namespaceKind, { name: "shop" });
  await goOn(8);
  await cluster.advance(400_000); // quotas are counted anew
  await goOn(4);
  await cluster.advance(400_000);
  const end = summary(cluster);
  await current.end();
  return { end, writes: first.writes };
}

test("owners, claims, namespaces and counts end the same, whichever write is the last", async () => {
  const { end: wanted, writes } = await story(Number.POSITIVE_INFINITY);
  assert.ok(writes > 40, `${writes} writes`);
  assert.deepEqual((wanted as { namespaces: unknown }).namespaces, ["default"]);
  for (let diesAt = 0; diesAt < writes; diesAt += 3) {
    const { end } = await story(diesAt);
    assert.deepEqual(end, wanted, `died at write ${diesAt}`);
  }
}, 120_000);
