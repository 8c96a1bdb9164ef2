/**
 * Controllers that die between deciding and any of their writes: whatever the point, those that
 * come after them bring the cluster to the same end.
 */
import assert from "node:assert/strict";
import { test } from "vitest";
import { deploymentKind } from "#api/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/apps/v1/replica-set.ts";
import { statefulSetKind } from "#api/apps/v1/stateful-set.ts";
import { namespaceKind } from "#api/core/v1/namespace.ts";
import { podKind } from "#api/core/v1/pod.ts";
import { serviceAccountKind } from "#api/core/v1/service-account.ts";
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { builtInControllers } from "#controllers/controllers.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { Runtime } from "#runtime/run.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "one" }] } };

/** Dies at the write with this number: nothing of its goes out any more. */
class Mortal {
  writes = 0;
  readonly #life = new AbortController();
  readonly #done: Promise<void>;

  constructor(cluster: Cluster, diesAt: number) {
    const { clock } = cluster;
    const random = seededRandom(1);
    const transport: Transport = {
      ...cluster.transport,
      send: (call, signal) => {
        if (call.verb !== "get" && call.verb !== "list") {
          if (this.writes === diesAt) this.#life.abort(new Error("dead"));
          this.writes += 1;
        }
        this.#life.signal.throwIfAborted();
        return cluster.transport.send(call, signal);
      },
    };
    const client = new Client({
      transport,
      clock,
      random,
      fieldManager: "kube-controller-manager",
    });
    const recorder = { record: () => undefined };
    this.runtime = new Runtime({
      client,
      clock,
      random,
      logger: silentLogger,
      metrics: new Metrics(),
      recorder,
    });
    this.#done = this.runtime.run(builtInControllers({ rootCa: "ca" }), this.#life.signal);
  }

  readonly runtime: Runtime;

  get isDead(): boolean {
    return this.#life.signal.aborted;
  }

  async end(): Promise<void> {
    this.#life.abort(new Error("over"));
    await this.#done.catch(() => undefined);
  }
}

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
