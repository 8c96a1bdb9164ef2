import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PodDisruptionBudgetSpec } from "#api/generated/policy.v1.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { disruptionController } from "./disruption.ts";

const AT = "2030-01-01T00:00:00Z";
const labels = { app: "web" };

async function world(
  spec: Partial<PodDisruptionBudgetSpec>,
  ready: number,
  managed = true,
): Promise<Cluster> {
  const cluster = await startCluster({ at: AT, controllers: [disruptionController] });
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  const set = await cluster.seed(replicaSetKind, {
    metadata: { name: "web" },
    spec: { replicas: 4, selector: { matchLabels: labels }, template },
  });
  const owner = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    name: "web",
    uid: set.metadata.uid ?? "",
    controller: true,
  };
  for (let i = 0; i < 4; i++) {
    await cluster.seed(podKind, {
      metadata: { name: `p${i}`, labels, ...(managed ? { ownerReferences: [owner] } : {}) },
      spec: { containers: [{ name: "c", image: "i" }] },
      status:
        i < ready
          ? {
              phase: "Running",
              conditions: [{ type: "Ready", status: "True", lastTransitionTime: AT }],
            }
          : {},
    });
  }
  await cluster.seed(podDisruptionBudgetKind, {
    metadata: { name: "b", generation: 1 },
    spec: { selector: { matchLabels: labels }, ...spec },
  });
  return cluster;
}

const status = (cluster: Cluster) => {
  const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, conditions } =
    cluster.get(podDisruptionBudgetKind, "b")!.status;
  return [
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions?.[0]?.reason,
  ];
};

const cases: {
  name: string;
  spec: Partial<PodDisruptionBudgetSpec>;
  ready: number;
  want: unknown[];
}[] = [
  {
    name: "minAvailable as a number counts the pods",
    spec: { minAvailable: 2 },
    ready: 3,
    want: [1, 3, 2, 4, "SufficientPods"],
  },
  {
    name: "minAvailable as a share asks the controllers",
    spec: { minAvailable: "50%" },
    ready: 4,
    want: [2, 4, 2, 4, "SufficientPods"],
  },
  {
    name: "maxUnavailable",
    spec: { maxUnavailable: 1 },
    ready: 3,
    want: [0, 3, 3, 4, "InsufficientPods"],
  },
  {
    name: "shares are rounded up",
    spec: { maxUnavailable: "30%" },
    ready: 4,
    want: [2, 4, 2, 4, "SufficientPods"],
  },
];

describe("PodDisruptionBudget: disruption", () => {
  for (const { name, spec, ready, want } of cases) {
    test(name, async () => {
      await using cluster = await world(spec, ready);
      assert.deepEqual(status(cluster), want);
    });
  }

  test("pods without a controller cannot be counted by share", async () => {
    await using cluster = await world({ maxUnavailable: 1 }, 4, false);
    assert.deepEqual(status(cluster).slice(0, 4), [0, 4, 0, 0]);
    assert.ok(cluster.events.some(({ reason }) => reason === "UnmanagedPods"));
  });

  test("pods of something that has no scale cannot be counted by share", async () => {
    await using cluster = await world({ maxUnavailable: 1 }, 4, false);
    const reference = (kind: string, apiVersion: string) => [
      { apiVersion, kind, name: "x", uid: "u", controller: true },
    ];
    const wanted = [
      ["ConfigMap", "v1", "configmaps does not implement the scale subresource"],
      ["Job", "batch/v1", "jobs.batch does not implement the scale subresource"],
      ["Thing", "x.io/v1", 'no matches for kind "Thing" in version "x.io/v1"'],
      ["StatefulSet", "apps/v1", 'found no controllers for pod "p0"'],
    ] as const;
    for (const [kind, apiVersion, error] of wanted) {
      await cluster.edit(podKind, "p0", (p) => {
        p.metadata.ownerReferences = reference(kind, apiVersion);
      });
      assert.equal(
        cluster.events.at(-1)?.message,
        `Failed to calculate the number of expected pods: ${error}`,
      );
      assert.equal(status(cluster)[0], 0);
    }
  });

  test("a granted eviction counts as a loss until it is overdue", async () => {
    await using cluster = await world({ minAvailable: 2 }, 4);
    await cluster.edit(
      podDisruptionBudgetKind,
      "b",
      (b) => void (b.status.disruptedPods = { p0: AT }),
    );
    await cluster.edit(podKind, "p3", (p) => void (p.metadata.annotations = { touched: "yes" }));
    assert.deepEqual(status(cluster).slice(0, 2), [1, 3]);
    await cluster.advance(120_001);
    assert.deepEqual(status(cluster).slice(0, 2), [2, 4]);
    assert.equal(cluster.get(podDisruptionBudgetKind, "b")?.status.disruptedPods, undefined);
  });
});
