/**
 * Controllers that die between deciding and any of their writes: whatever the point, those that
 * come after them bring the cluster to the same end.
 */
import assert from "node:assert/strict";
import { test } from "vitest";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Mortal } from "./mortal.ts";

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "one" }] } };

/** What a person would look at; names that the server makes up are left out. */
function summary(cluster: Cluster): unknown {
  return {
    sets: cluster
      .list(replicaSetKind)
      .map(({ spec, status, metadata }) => [
        spec.template.spec.containers?.[0]?.image,
        spec.replicas,
        status.replicas,
        metadata.annotations?.["deployment.kubernetes.io/revision"],
      ])
      .sort(),
    pods: cluster
      .list(podKind)
      .map(({ metadata, spec }) => [
        metadata.generateName ?? metadata.name,
        spec.containers?.[0]?.image,
      ])
      .sort(),
    deployment: cluster.get(deploymentKind, "web")?.status.updatedReplicas,
    stateful: cluster.get(statefulSetKind, "db")?.status.replicas,
    accounts: cluster.names(serviceAccountKind),
  };
}

async function story(diesAt: number): Promise<{ end: unknown; writes: number }> {
  await using cluster = await startCluster();
  const first = new Mortal(cluster, diesAt);
  let current = first;
  /** A successor takes over where one died, and has time for whatever was left. */
  const goOn = async (): Promise<void> => {
    await cluster.advance(2_000);
    if (!current.isDead) return;
    await current.end();
    current = new Mortal(cluster, Number.POSITIVE_INFINITY);
    await cluster.advance(120_000);
  };
  await cluster.seed(namespaceKind, { metadata: { name: "default" } });
  await goOn();
  await cluster.seed(deploymentKind, {
    metadata: { name: "web", generation: 1 },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  });
  await goOn();
  await cluster.seed(statefulSetKind, {
    metadata: { name: "db", generation: 1 },
    spec: {
      replicas: 2,
      podManagementPolicy: "Parallel",
      serviceName: "db",
      selector: { matchLabels: { app: "db" } },
      template: { ...template, metadata: { labels: { app: "db" } } },
    },
  });
  await goOn();
  await cluster.edit(deploymentKind, "web", (d) => {
    d.spec.template.spec.containers![0]!.image = "two";
    d.metadata.generation = 2;
  });
  await goOn();
  const end = summary(cluster);
  await current.end();
  return { end, writes: first.writes };
}

test("controllers that die at any write leave nothing that their successors cannot mend", async () => {
  const { end: wanted, writes } = await story(Number.POSITIVE_INFINITY);
  assert.ok(writes > 15, `${writes} writes`);
  for (let diesAt = 0; diesAt < writes; diesAt++) {
    const { end } = await story(diesAt);
    assert.deepEqual(end, wanted, `died at write ${diesAt}`);
  }
}, 120_000);
