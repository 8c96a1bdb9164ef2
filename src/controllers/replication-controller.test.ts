import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ReplicationController } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { type Draft, startCluster } from "#testing/cluster.ts";
import { replicationControllerController } from "./replication-controller.ts";

const LABELS = { app: "old" };

function controller(replicas: number): Draft<ReplicationController> {
  return {
    metadata: { name: "old", generation: 1 },
    spec: {
      replicas,
      selector: LABELS,
      template: { metadata: { labels: LABELS }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  };
}

describe("replication controller", () => {
  test("creates its pods, records Events as replication-controller, and scales down", async () => {
    const controllers = [replicationControllerController];
    await using cluster = await startCluster({ controllers });
    await cluster.seed(replicationControllerKind, controller(3));
    const pods = cluster.list(podKind);
    assert.equal(pods.length, 3);
    const [owner] = pods[0]?.metadata.ownerReferences ?? [];
    assert.deepEqual(
      [owner?.apiVersion, owner?.kind, owner?.controller],
      ["v1", "ReplicationController", true],
    );
    const [event] = cluster.events;
    assert.deepEqual(
      [event?.component, event?.reason],
      ["replication-controller", "SuccessfulCreate"],
    );
    const { status } = cluster.get(replicationControllerKind, "old")!;
    assert.deepEqual(status, { replicas: 3, fullyLabeledReplicas: 3, observedGeneration: 1 });
    await cluster.edit(replicationControllerKind, "old", (rc) => void (rc.spec.replicas = 1));
    assert.equal(cluster.list(podKind).length, 1);
  });

  test("adopts what it selects and lets go of what it does not", async () => {
    const controllers = [replicationControllerController];
    await using cluster = await startCluster({ controllers });
    await cluster.seed(podKind, {
      metadata: { name: "loose", labels: LABELS },
      spec: { containers: [{ name: "c", image: "i" }] },
    });
    await cluster.seed(replicationControllerKind, controller(1));
    assert.deepEqual(cluster.names(podKind), ["loose"]);
    await cluster.edit(podKind, "loose", (pod) => void (pod.metadata.labels = { app: "new" }));
    assert.equal(cluster.get(podKind, "loose")?.metadata.ownerReferences, undefined);
    assert.equal(cluster.list(podKind).length, 2);
  });
});
