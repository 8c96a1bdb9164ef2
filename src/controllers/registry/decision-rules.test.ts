/** Decision records name the rule that fired, not just the controller. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { completed } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { deploymentController } from "../deployment/deployment.ts";
import { jobController } from "../job/job.ts";
import { replicaSetController } from "../replica-set.ts";

const NOW = "2030-01-01T00:00:00Z";
const LABELS = { app: "web" };
const template = (image: string) => ({
  metadata: { labels: LABELS },
  spec: { containers: [{ name: "c", image, resources: {} }], restartPolicy: "Always" },
});

/** The rules of the records since the last call, without repetitions. */
function rulesOf(cluster: Cluster, controller: string): () => readonly string[] {
  let seen = 0;
  return () => {
    const records = cluster.runtime.decisions.about({ controller });
    const fresh = records.slice(seen).map(({ because }) => because ?? "");
    seen = records.length;
    return fresh.filter((rule, at) => rule !== fresh[at - 1]);
  };
}

async function makeReady(cluster: Cluster): Promise<void> {
  const ready = { type: "Ready", status: "True", lastTransitionTime: NOW } as const;
  for (const name of cluster.names(podKind)) {
    await cluster.edit(podKind, name, (pod) => {
      pod.status = { ...pod.status, phase: "Running", conditions: [ready] };
    });
  }
}

describe("decision records: because", () => {
  test("names the rules of a Deployment and of its ReplicaSets", async () => {
    const controllers = [deploymentController, replicaSetController];
    await using cluster = await startCluster({ at: NOW, controllers });
    const deployment = rulesOf(cluster, deploymentController.name);
    const replicaSet = rulesOf(cluster, replicaSetController.name);
    await cluster.client.create(
      deploymentKind,
      completed(deploymentKind, {
        metadata: { namespace: "default", name: "web" },
        spec: {
          replicas: 2,
          strategy: {},
          selector: { matchLabels: LABELS },
          template: template("a"),
        },
      }),
    );
    await cluster.settle();
    const counts = "the status counts the pods of the ReplicaSets";
    assert.deepEqual(deployment(), ["no ReplicaSet has the template", counts]);
    assert.equal(replicaSet()[0], "fewer pods run than spec.replicas asks for");

    await makeReady(cluster);
    deployment();
    replicaSet();
    await cluster.edit(deploymentKind, "web", (web) => void (web.spec.replicas = 1));
    assert.equal(deployment()[0], "spec.replicas changed: all ReplicaSets get their share");
    assert.equal(replicaSet()[0], "more pods run than spec.replicas asks for");

    await cluster.edit(deploymentKind, "web", (web) => {
      web.spec.template.spec.containers![0]!.image = "b";
    });
    assert.equal(deployment()[0], "no ReplicaSet has the template");
    await makeReady(cluster);
    const step =
      "the new ReplicaSet grows and the old ones shrink within maxSurge and maxUnavailable";
    assert.ok(deployment().includes(step));
    assert.equal(cluster.names(replicaSetKind).length, 2);
  });

  test("names the rules of a Job: too few pods, suspension, its end", async () => {
    await using cluster = await startCluster({ at: NOW, controllers: [jobController] });
    const rules = rulesOf(cluster, jobController.name);
    await cluster.client.create(
      jobKind,
      completed(jobKind, {
        metadata: { namespace: "default", name: "work" },
        spec: {
          completions: 1,
          template: {
            spec: {
              containers: [{ name: "c", image: "a", resources: {} }],
              restartPolicy: "Never",
            },
          },
        },
      }),
    );
    await cluster.settle();
    assert.equal(rules()[0], "fewer pods run than parallelism and the missing completions ask for");
    await cluster.edit(jobKind, "work", (job) => void (job.spec.suspend = true));
    assert.equal(rules()[0], "the Job is suspended");
    await cluster.edit(jobKind, "work", (job) => void (job.spec.suspend = false));
    rules();
    for (const name of cluster.names(podKind)) {
      await cluster.edit(podKind, name, (pod) => void (pod.status.phase = "Succeeded"));
    }
    assert.ok(rules().includes("the Job ends: CompletionsReached"));
  });
});
