import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { csiNodeKind } from "#api/kinds/storage/v1/csi-node.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { persistentVolumeBinder } from "#controllers/persistent-volume/binder.ts";
import { type SchedulingCluster, startScheduling } from "#scheduler/scheduling.testing.ts";

const withClaim = (claimName: string) => ({
  volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
});

const CLASSES = {
  local: { provisioner: "kubernetes.io/no-provisioner", volumeBindingMode: "WaitForFirstConsumer" },
  fast: { provisioner: "example.com/csi", volumeBindingMode: "WaitForFirstConsumer" },
  now: { provisioner: "example.com/csi", volumeBindingMode: "Immediate" },
} as const;

async function storageClass(world: SchedulingCluster, name: keyof typeof CLASSES): Promise<void> {
  await world.cluster.seed(storageClassKind, { metadata: { name }, ...CLASSES[name] });
}

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
    await storageClass(world, "local");
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
    await storageClass(world, "local");
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
    await storageClass(world, "fast");
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
    await storageClass(world, "now");
    await world.node("n1");
    await claim(world, "data", "now");
    await world.pod("p", withClaim("data"));
    assert.match(world.message("p") ?? "", /pod has unbound immediate PersistentVolumeClaims/);
  });

  test("a claim whose StorageClass does not exist counts as unbound immediate", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await claim(world, "data", "missing");
    await world.pod("p", withClaim("data"));
    assert.match(
      world.message("p") ?? "",
      /^0\/1 nodes are available: pod has unbound immediate PersistentVolumeClaims\./,
    );
  });

  test("a volume that was made for the claim and is elsewhere rules free volumes out", async () => {
    await using world = await startScheduling();
    await storageClass(world, "local");
    await world.node("n1");
    await localVolume(world, "free", "n1");
    await localVolume(world, "own", "n2");
    await claim(world, "data", "local");
    await world.cluster.edit(persistentVolumeKind, "own", (draft) => {
      draft.spec.claimRef = { namespace: "default", name: "data" };
    });
    await world.pod("p", withClaim("data"));
    assert.match(world.message("p") ?? "", /1 node\(s\) didn't find available persistent volumes/);
  });

  test("a volume that was provisioned where the node cannot reach it fails the binding", async () => {
    await using world = await startScheduling();
    await storageClass(world, "fast");
    await world.node("n1");
    await claim(world, "data", "fast");
    await localVolume(world, "made", "elsewhere");
    await world.submit("p", withClaim("data"));
    await world.cluster.clock.advance(1_500);
    await world.cluster.edit(persistentVolumeClaimKind, "data", (draft) => {
      draft.spec.volumeName = "made";
    });
    await world.cluster.clock.advance(1_500);
    await world.settle();
    const notes = world.cluster.list(eventKind).map(({ message }) => message);
    assert.equal(
      notes[0],
      'running PreBind plugin "VolumeBinding": binding volumes: pv "made" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms',
    );
    const failures = world.metrics.text().match(/stage_error_total\{operation="bind"\} 1/);
    assert.notEqual(failures, null);
  });

  test("a provisioner that gives the node back fails the binding", async () => {
    await using world = await startScheduling();
    await storageClass(world, "fast");
    await world.node("n1");
    await claim(world, "data", "fast");
    await world.submit("p", withClaim("data"));
    await world.cluster.clock.advance(1_500);
    await world.cluster.edit(persistentVolumeClaimKind, "data", (draft) => {
      draft.metadata.annotations = { other: "x" };
    });
    await world.cluster.clock.advance(1_500);
    assert.match(
      world.message("p") ?? "",
      /^running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"$/,
    );
  });
});

describe("VolumeBinding: in-tree volumes of nodes that have migrated the plugin", () => {
  const TOPOLOGY = "topology.ebs.csi.aws.com/zone";
  const PLUGIN = "kubernetes.io/aws-ebs";

  async function boundEbs(world: SchedulingCluster, volumeID: string): Promise<void> {
    await world.cluster.seed(persistentVolumeKind, {
      metadata: { name: "disk", labels: { "topology.kubernetes.io/zone": "a" } },
      spec: {
        ...{ capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] },
        awsElasticBlockStore: { volumeID },
      },
    });
    await world.cluster.seed(persistentVolumeClaimKind, {
      metadata: { name: "data", annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
      spec: {
        ...{ volumeName: "disk", accessModes: ["ReadWriteOnce"] },
        resources: { requests: { storage: "1Gi" } },
      },
      status: { phase: "Bound" },
    });
  }

  async function csiNode(world: SchedulingCluster, migrated: string): Promise<void> {
    await world.cluster.seed(csiNodeKind, {
      metadata: { name: "n1", annotations: { [MIGRATED]: migrated } },
      spec: { drivers: [] },
    });
  }

  const MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins";

  const rows = [
    { name: "the driver's label on the node counts", zone: "a", migrated: PLUGIN, fits: true },
    { name: "another zone of the driver is refused", zone: "b", migrated: PLUGIN, fits: false },
    {
      name: "a node that has not migrated the plugin is not asked for it",
      ...{ zone: "b", migrated: "kubernetes.io/gce-pd", fits: true },
    },
  ];
  for (const { name, zone, migrated, fits } of rows) {
    test(name, async () => {
      await using world = await startScheduling();
      await world.node("n1", { metadata: { labels: { [TOPOLOGY]: zone } } });
      await csiNode(world, migrated);
      await boundEbs(world, "vol-1");
      await world.pod("p", withClaim("data"));
      assert.equal(world.nodeOf("p"), fits ? "n1" : undefined);
      if (fits) return;
      assert.match(world.message("p") ?? "", /1 node\(s\) didn't match PersistentVolume's node/);
    });
  }

  test("the migration of the plugin on a node wakes the pod", async () => {
    await using world = await startScheduling();
    await world.node("n1", { metadata: { labels: { [TOPOLOGY]: "b" } } });
    await csiNode(world, PLUGIN);
    await boundEbs(world, "vol-1");
    await world.pod("p", withClaim("data"));
    assert.equal(world.nodeOf("p"), undefined);
    await world.cluster.edit(csiNodeKind, "n1", (draft) => {
      draft.metadata.annotations = {};
    });
    await world.advance(1_100);
    assert.equal(world.nodeOf("p"), "n1");
  });

  test("a volume that cannot be translated is an error", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await csiNode(world, PLUGIN);
    await boundEbs(world, "aws://zone/not-a-volume");
    await world.pod("p", withClaim("data"));
    assert.equal(
      world.message("p"),
      'running "VolumeBinding" filter plugin: could not translate pv: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/not-a-volume)',
    );
    assert.match(world.metrics.text(), /stage_error_total\{operation="predicate"\} 1/);
  });
});
