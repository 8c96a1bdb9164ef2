import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Deployment, DeploymentStrategy } from "#api/generated/apps.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { replicaSetController } from "../replica-set.ts";
import { deploymentController } from "./deployment.ts";

const AT = "2030-01-01T00:00:00Z";

function deployment(image: string, spec: Draft<Deployment["spec"]> = {}): Draft<Deployment> {
  return {
    metadata: { name: "web", generation: 1 },
    spec: {
      replicas: 4,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image }] },
      },
      ...spec,
    },
  };
}

async function start(image = "one", spec: Draft<Deployment["spec"]> = {}): Promise<Cluster> {
  const cluster = await startCluster({
    at: AT,
    controllers: [deploymentController, replicaSetController],
  });
  await cluster.seed(deploymentKind, deployment(image, spec));
  return cluster;
}

async function setImage(cluster: Cluster, image: string): Promise<void> {
  await cluster.edit(deploymentKind, "web", (d) => {
    d.spec.template.spec.containers![0]!.image = image;
    d.metadata.generation = (d.metadata.generation ?? 0) + 1;
  });
}

/** What kubelets would do: run every pod, and let deleted ones go. */
async function runPods(cluster: Cluster): Promise<void> {
  for (let rounds = 0; rounds < 50; rounds++) {
    const pending = cluster
      .list(podKind)
      .filter(
        ({ metadata, status }) =>
          metadata.deletionTimestamp !== undefined || status.phase !== "Running",
      );
    if (pending.length === 0) return;
    for (const { metadata } of pending) {
      const name = metadata.name ?? "";
      if (cluster.get(podKind, name) === undefined) continue;
      if (metadata.deletionTimestamp !== undefined) {
        await cluster.client.delete(
          podKind,
          { namespace: "default", name },
          { gracePeriodSeconds: 0 },
        );
        await cluster.settle();
        continue;
      }
      await cluster.edit(podKind, name, (pod) => {
        pod.spec.nodeName = "node"; // from now on a delete waits for its kubelet
        pod.status.phase = "Running";
        pod.status.conditions = [{ type: "Ready", status: "True", lastTransitionTime: AT }];
      });
    }
  }
  throw new Error("the rollout never ends");
}

function sizes(cluster: Cluster): Record<string, number> {
  return Object.fromEntries(
    cluster
      .list(replicaSetKind)
      .map(({ spec }) => [spec.template.spec.containers?.[0]?.image ?? "", spec.replicas ?? 1]),
  );
}

function condition(cluster: Cluster, type: string): string {
  const found = cluster.get(deploymentKind, "web")?.status.conditions?.find((c) => c.type === type);
  return `${found?.status} ${found?.reason}`;
}

describe("deployment", () => {
  test("makes a set with hash, revision and the wanted size, and reports when it is complete", async () => {
    await using cluster = await start();
    const [set] = cluster.list(replicaSetKind);
    assert.match(set?.metadata.name ?? "", /^web-[bcdfghjklmnpqrstvwxz2456789]+$/);
    const hash = set?.metadata.labels?.["pod-template-hash"];
    assert.equal(set?.metadata.name, `web-${hash}`);
    assert.equal(set?.spec.selector?.matchLabels?.["pod-template-hash"], hash);
    assert.deepEqual(set?.metadata.annotations, {
      "deployment.kubernetes.io/desired-replicas": "4",
      "deployment.kubernetes.io/max-replicas": "5",
      "deployment.kubernetes.io/revision": "1",
    });
    assert.equal(condition(cluster, "Available"), "False MinimumReplicasUnavailable");
    await runPods(cluster);
    const { status, metadata } = cluster.get(deploymentKind, "web")!;
    assert.equal(metadata.annotations?.["deployment.kubernetes.io/revision"], "1");
    assert.deepEqual(
      [
        status.replicas,
        status.updatedReplicas,
        status.readyReplicas,
        status.availableReplicas,
        status.unavailableReplicas,
      ],
      [4, 4, 4, 4, undefined],
    );
    assert.equal(condition(cluster, "Available"), "True MinimumReplicasAvailable");
    assert.equal(condition(cluster, "Progressing"), "True NewReplicaSetAvailable");
    assert.deepEqual(
      cluster.events
        .filter(({ reason }) => reason === "ScalingReplicaSet")
        .map(({ message }) => message),
      [`Scaled up replica set ${set?.metadata.name} from 0 to 4`],
    );
  });

  test("a rolling update stays within surge and unavailability, and ends with the new set", async () => {
    await using cluster = await start();
    await runPods(cluster);
    await setImage(cluster, "two");
    // 25 % of 4: one too many, one too few.
    assert.deepEqual(sizes(cluster), { one: 3, two: 2 });
    const seen: string[] = [];
    for (
      let step = 0;
      step < 20 && condition(cluster, "Progressing") !== "True NewReplicaSetAvailable";
      step++
    ) {
      const total = cluster
        .list(podKind)
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
      const ready = cluster
        .list(podKind)
        .filter(
          ({ metadata, status }) =>
            metadata.deletionTimestamp === undefined && status.phase === "Running",
        ).length;
      seen.push(`${total}/${ready}`);
      assert.ok(total <= 5 && ready >= 3, seen.join(" "));
      const next = cluster
        .list(podKind)
        .find(
          ({ metadata, status }) =>
            metadata.deletionTimestamp === undefined && status.phase !== "Running",
        );
      if (next === undefined) break;
      await cluster.edit(podKind, next.metadata.name ?? "", (pod) => {
        pod.status.phase = "Running";
        pod.status.conditions = [{ type: "Ready", status: "True", lastTransitionTime: AT }];
      });
    }
    await runPods(cluster);
    assert.deepEqual(sizes(cluster), { one: 0, two: 4 });
    assert.equal(
      cluster.get(deploymentKind, "web")?.metadata.annotations?.[
        "deployment.kubernetes.io/revision"
      ],
      "2",
    );
  });

  test("recreate lets all old pods go before a new one comes", async () => {
    await using cluster = await start("one", {
      strategy: { type: "Recreate" } as DeploymentStrategy,
    });
    await runPods(cluster);
    await setImage(cluster, "two");
    assert.deepEqual(sizes(cluster), { one: 0 });
    await runPods(cluster);
    assert.deepEqual(sizes(cluster), { one: 0, two: 4 });
  });

  test("scaling in the middle of a rollout is spread in proportion", async () => {
    await using cluster = await start("one", {
      replicas: 10,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } },
    });
    await runPods(cluster);
    await setImage(cluster, "two");
    assert.deepEqual(sizes(cluster), { one: 8, two: 5 });
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.replicas = 15));
    assert.deepEqual(sizes(cluster), { one: 11, two: 7 });
  });

  test("paused: scaled but not rolled out; resumed: rolled out", async () => {
    await using cluster = await start();
    await runPods(cluster);
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.paused = true));
    assert.equal(condition(cluster, "Progressing"), "Unknown DeploymentPaused");
    await setImage(cluster, "two");
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.replicas = 6));
    assert.deepEqual(sizes(cluster), { one: 6 });
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.paused = false));
    await runPods(cluster);
    assert.deepEqual(sizes(cluster), { one: 0, two: 6 });
  });

  test("no progress within the deadline is reported, once it is over", async () => {
    await using cluster = await start("one", { progressDeadlineSeconds: 60 });
    await cluster.advance(59_000);
    assert.match(condition(cluster, "Progressing"), /^True/);
    await cluster.advance(3_000);
    assert.equal(condition(cluster, "Progressing"), "False ProgressDeadlineExceeded");
    await runPods(cluster);
    assert.equal(condition(cluster, "Progressing"), "True NewReplicaSetAvailable");
  });

  test("history is kept to its limit, the oldest goes first", async () => {
    await using cluster = await start("one", { revisionHistoryLimit: 1 });
    for (const image of ["two", "three"]) {
      await runPods(cluster);
      await setImage(cluster, image);
    }
    await runPods(cluster);
    assert.deepEqual(sizes(cluster), { two: 0, three: 4 });
  });

  test("going back to an old template gives its set a new revision and remembers the old one", async () => {
    await using cluster = await start();
    await runPods(cluster);
    await setImage(cluster, "two");
    await runPods(cluster);
    await setImage(cluster, "one");
    await runPods(cluster);
    const set = cluster.list(replicaSetKind).find(({ spec }) => spec.replicas === 4);
    assert.equal(set?.metadata.annotations?.["deployment.kubernetes.io/revision"], "3");
    assert.equal(set?.metadata.annotations?.["deployment.kubernetes.io/revision-history"], "1");
  });

  test("changes of annotations and minReadySeconds are copied to the current ReplicaSet", async () => {
    await using cluster = await start();
    await runPods(cluster);
    await cluster.edit(deploymentKind, "web", (d) => {
      d.metadata.annotations = { ...d.metadata.annotations, "kubernetes.io/change-cause": "why" };
      d.spec.minReadySeconds = 3;
    });
    const [set] = cluster.list(replicaSetKind);
    assert.equal(set?.metadata.annotations?.["kubernetes.io/change-cause"], "why");
    assert.equal(set?.spec.minReadySeconds, 3);
  });

  test("a paused one that changes its strategy leaves its set alone", async () => {
    await using cluster = await start();
    await runPods(cluster);
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.paused = true));
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.strategy = { type: "Recreate" }));
    const { annotations } = cluster.list(replicaSetKind)[0]!.metadata;
    assert.equal(annotations?.["deployment.kubernetes.io/max-replicas"], "5");
  });

  test("the old rollback annotation puts the named revision's template back", async () => {
    await using cluster = await start();
    await runPods(cluster);
    await setImage(cluster, "two");
    await runPods(cluster);
    await cluster.edit(deploymentKind, "web", (d) => {
      d.metadata.annotations = {
        ...d.metadata.annotations,
        "deprecated.deployment.rollback.to": "1",
      };
    });
    await runPods(cluster);
    assert.deepEqual(sizes(cluster), { one: 4, two: 0 });
    assert.ok(
      cluster.events.some(
        ({ message }) => message === 'Rolled back deployment "web" to revision 1',
      ),
    );
  });

  test("a name that is taken by another's set is resolved with another hash", async () => {
    await using first = await start();
    const name = first.names(replicaSetKind)[0]!;
    await using cluster = await startCluster({
      at: AT,
      controllers: [deploymentController, replicaSetController],
    });
    await cluster.seed(replicaSetKind, {
      metadata: { name },
      spec: {
        replicas: 0,
        selector: { matchLabels: { x: "y" } },
        template: {
          metadata: { labels: { x: "y" } },
          spec: { containers: [{ name: "c", image: "i" }] },
        },
      },
    });
    await cluster.seed(deploymentKind, deployment("one"));
    await cluster.advance(1_000);
    assert.equal(cluster.get(deploymentKind, "web")?.status.collisionCount, 1);
    assert.equal(cluster.names(replicaSetKind).length, 2);
    assert.equal(cluster.names(podKind).length, 4);
  });
});
