import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { csiNodeKind } from "#api/kinds/storage/v1/csi-node.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { type SchedulingCluster, startScheduling } from "#scheduler/scheduling.testing.ts";
import type { Draft } from "#testing/build.ts";

const EBS = "ebs.csi.aws.com";
const FULL = /1 node\(s\) exceed max volume count/;

type Volumes = Draft<NonNullable<Pod["spec"]["volumes"]>>;

const claims = (...names: readonly string[]): { volumes: Volumes } => ({
  volumes: names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
});

const inline = (...ids: readonly string[]): { volumes: Volumes } => ({
  volumes: ids.map((volumeID, index) => ({
    name: `v${index}`,
    awsElasticBlockStore: { volumeID },
  })),
});

async function limit(world: SchedulingCluster, driver: string, count: number): Promise<void> {
  await world.cluster.seed(csiNodeKind, {
    metadata: { name: "n1" },
    spec: { drivers: [{ name: driver, nodeID: "n1", allocatable: { count } }] },
  });
}

async function boundClaim(
  world: SchedulingCluster,
  name: string,
  source: Draft<PersistentVolume["spec"]>,
): Promise<void> {
  await world.cluster.seed(persistentVolumeKind, {
    metadata: { name: `pv-${name}` },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteMany"], ...source },
  });
  await world.cluster.seed(persistentVolumeClaimKind, {
    metadata: { name, annotations: { "pv.kubernetes.io/bind-completed": "yes" } },
    spec: {
      ...{ volumeName: `pv-${name}`, accessModes: ["ReadWriteMany"] },
      resources: { requests: { storage: "1Gi" } },
    },
    status: { phase: "Bound" },
  });
}

const ebs = (volumeID: string) => ({ awsElasticBlockStore: { volumeID } });

describe("NodeVolumeLimits", () => {
  const rows = [
    { name: "volumes of the CSI driver", source: () => ({ csi: csi("a") }), driver: EBS },
    {
      name: "in-tree EBS volumes under the name of their driver",
      source: () => ebs("vol-2"),
      driver: EBS,
    },
    {
      name: "in-tree GCE disks under the name of their driver",
      source: () => ({ gcePersistentDisk: { pdName: "d" } }),
      driver: "pd.csi.storage.gke.io",
    },
    {
      name: "in-tree Cinder volumes under the name of their driver",
      source: () => ({ cinder: { volumeID: "c" } }),
      driver: "cinder.csi.openstack.org",
    },
    {
      name: "in-tree Azure disks under the name of their driver",
      source: () => ({ azureDisk: { diskName: "d", diskURI: "/d", kind: "Managed" as const } }),
      driver: "disk.csi.azure.com",
    },
    {
      name: "Portworx volumes under the name of their driver",
      source: () => ({ portworxVolume: { volumeID: "p" } }),
      driver: "pxd.portworx.com",
    },
  ];
  for (const { name, source, driver } of rows) {
    test(`counts ${name}`, async () => {
      await using world = await startScheduling();
      await world.node("n1");
      await limit(world, driver, 0);
      await boundClaim(world, "data", source());
      await world.pod("p", claims("data"));
      assert.match(world.message("p") ?? "", FULL);
    });
  }

  test("vSphere and Azure File volumes are not counted", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await limit(world, "csi.vsphere.vmware.com", 0);
    await boundClaim(world, "data", { vsphereVolume: { volumePath: "[x] y" } });
    await world.pod("p", claims("data"));
    assert.equal(world.nodeOf("p"), "n1");
  });

  test("one volume under several names counts once", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await limit(world, EBS, 1);
    await boundClaim(world, "a", ebs("aws://zone/vol-1"));
    await boundClaim(world, "b", { csi: { driver: EBS, volumeHandle: "vol-1" } });
    await world.pod("p", claims("a"));
    await world.pod("q", claims("b"));
    assert.equal(world.nodeOf("q"), "n1");
    await boundClaim(world, "c", ebs("vol-2"));
    await world.pod("r", claims("c"));
    assert.match(world.message("r") ?? "", FULL);
  });

  test("inline in-tree volumes count; a deleted pod with one gives room to the next", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await limit(world, EBS, 2);
    await world.pod("p", inline("vol-1", "vol-2"));
    assert.equal(world.nodeOf("p"), "n1");
    await world.pod("q", inline("vol-3"));
    assert.match(world.message("q") ?? "", FULL);
    const key = { namespace: "default", name: "p" };
    await world.cluster.client.delete(podKind, key, { gracePeriodSeconds: 0 });
    await world.advance(1_100);
    assert.equal(world.nodeOf("q"), "n1");
  });

  test("an inline volume that cannot be translated is an error that names the plugin", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await limit(world, "disk.csi.azure.com", 5);
    const azureDisk = { diskName: "d", diskURI: "http://x/d", kind: "Shared" as const };
    await world.pod("p", { volumes: [{ name: "data", azureDisk }] });
    assert.equal(
      world.message("p"),
      'running "NodeVolumeLimits" filter plugin: converting volume(data) from inline to csi: kind(Shared) is not supported in csi migration',
    );
  });

  test("unbound claims of an in-tree class count for the driver", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await limit(world, EBS, 0);
    await world.cluster.seed(storageClassKind, {
      metadata: { name: "gp2" },
      provisioner: "kubernetes.io/aws-ebs",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    await world.cluster.seed(persistentVolumeClaimKind, {
      metadata: { name: "data" },
      spec: {
        ...{ storageClassName: "gp2", accessModes: ["ReadWriteOnce"] },
        resources: { requests: { storage: "1Gi" } },
      },
      status: { phase: "Pending" },
    });
    await world.pod("p", claims("data"));
    assert.match(world.message("p") ?? "", FULL);
  });

  test("attached volumes without a pod count; a deleted VolumeAttachment gives room", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await limit(world, EBS, 1);
    await boundClaim(world, "old", { csi: csi("old") });
    await boundClaim(world, "new", { csi: csi("new") });
    await world.cluster.seed(volumeAttachmentKind, {
      metadata: { name: "attached" },
      spec: { attacher: EBS, nodeName: "n1", source: { persistentVolumeName: "pv-old" } },
    });
    await world.pod("p", claims("new"));
    assert.match(world.message("p") ?? "", FULL);
    await world.cluster.client.delete(volumeAttachmentKind, { name: "attached" });
    await world.advance(1_100);
    assert.equal(world.nodeOf("p"), "n1");
  });

  test("a raised limit wakes the pod, a lowered one does not", async () => {
    await using world = await startScheduling();
    await world.node("n1");
    await limit(world, EBS, 0);
    await boundClaim(world, "data", { csi: csi("data") });
    await world.pod("p", claims("data"));
    const attempts = () => world.scheduler.records.of("default", "p")?.attempts.length;
    const setLimit = async (count: number): Promise<void> => {
      await world.cluster.edit(csiNodeKind, "n1", (draft) => {
        draft.spec.drivers![0]!.allocatable = { count };
      });
      await world.advance(1_100);
    };
    assert.equal(attempts(), 1);
    await world.cluster.edit(csiNodeKind, "n1", (draft) => {
      draft.spec.drivers![0]!.topologyKeys = ["zone"];
    });
    await world.advance(1_100);
    assert.equal(attempts(), 1);
    await setLimit(1);
    assert.equal(world.nodeOf("p"), "n1");
  });
});

function csi(volumeHandle: string) {
  return { driver: EBS, volumeHandle };
}
