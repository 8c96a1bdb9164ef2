import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { persistentVolumeBinder } from "#controllers/persistent-volume/binder.ts";
import { type SchedulingCluster, startScheduling } from "#scheduler/scheduling.testing.ts";

const withClaim = (claimName: string) => ({
  volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
});

async function claim(world: SchedulingCluster, name: string, storageClassName: string) {
  await world.cluster.seed(persistentVolumeClaimKind, {
    metadata: { name },
    spec: {
      storageClassName,
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
    status: { phase: "Pending" },
  });
}

async function localVolume(world: SchedulingCluster, name: string, node: string) {
  await world.cluster.seed(persistentVolumeKind, {
    metadata: { name },
    spec: {
      storageClassName: "local",
      capacity: { storage: "2Gi" },
      accessModes: ["ReadWriteOnce"],
      local: { path: "/data" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }],
            },
          ],
        },
      },
    },
    status: { phase: "Available" },
  });
}

describe("VolumeBinding", () => {
  test("a pod whose claim does not exist is unschedulable", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await world.pod("p", withClaim("missing"));
    assert.match(
      world.message("p") ?? "",
      /^0\/1 nodes are available: persistentvolumeclaim "missing" not found\. not found$/,
    );
  });

  test("WaitForFirstConsumer: the pod goes to the node that has the local volume, which is bound first", async () => {
    await using world = await startScheduling({ controllers: [persistentVolumeBinder()] });
    await world.cluster.seed(storageClassKind, {
      metadata: { name: "local" },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    await world.node("n1");
    await world.node("n2");
    await localVolume(world, "disk", "n2");
    await claim(world, "data", "local");
    await world.submit("p", withClaim("data"));
    await world.cluster.clock.advance(3_000);
    assert.equal(world.nodeOf("p"), "n2");
    assert.equal(world.cluster.get(persistentVolumeClaimKind, "data")?.spec.volumeName, "disk");
  });

  test("WaitForFirstConsumer without a free volume is refused with upstream's reason", async () => {
    await using world = await startScheduling();
    await world.cluster.seed(storageClassKind, {
      metadata: { name: "local" },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    await world.node("n1");
    await claim(world, "data", "local");
    await world.pod("p", withClaim("data"));
    assert.match(
      world.message("p") ?? "",
      /1 node\(s\) didn't find available persistent volumes to bind/,
    );
  });

  test("dynamic provisioning: the claim gets the selected-node annotation before the pod is bound", async () => {
    await using world = await startScheduling();
    await world.cluster.seed(storageClassKind, {
      metadata: { name: "fast" },
      provisioner: "example.com/csi",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    await world.node("n1");
    await claim(world, "data", "fast");
    await world.cluster.seed(persistentVolumeKind, {
      metadata: { name: "made" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/x" },
      },
    });
    await world.submit("p", withClaim("data"));
    await world.cluster.clock.advance(1_500);
    const pending = world.cluster.get(persistentVolumeClaimKind, "data");
    assert.equal(pending?.metadata.annotations?.["volume.kubernetes.io/selected-node"], "n1");
    assert.equal(world.nodeOf("p"), undefined);
    await world.cluster.edit(persistentVolumeClaimKind, "data", (draft) => {
      draft.spec.volumeName = "made";
      draft.metadata.annotations = {
        ...draft.metadata.annotations,
        "pv.kubernetes.io/bind-completed": "yes",
      };
    });
    await world.advance(2_000);
    assert.equal(world.nodeOf("p"), "n1");
  });

  test("a claim that is bound at once keeps the pod waiting until it is", async () => {
    await using world = await startScheduling();
    await world.cluster.seed(storageClassKind, {
      metadata: { name: "now" },
      provisioner: "example.com/csi",
      volumeBindingMode: "Immediate",
    });
    await world.node("n1");
    await claim(world, "data", "now");
    await world.pod("p", withClaim("data"));
    assert.match(world.message("p") ?? "", /pod has unbound immediate PersistentVolumeClaims/);
  });
});
