import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, PersistentVolume } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { attachDetach } from "./attach-detach.ts";
import { type Attachment, attachmentName, mayDetach } from "./attachment.ts";

const AT = "2030-01-01T00:00:00Z";
const AT_MS = Date.parse(AT);
const UNIQUE = "kubernetes.io/csi/csi.example^h";
const SIX_MINUTES_MS = 360_000;

const volume: PersistentVolume = {
  metadata: { name: "v" },
  spec: { csi: { driver: "csi.example", volumeHandle: "h" } },
  status: {},
};

function node(
  ready: string,
  inUse: readonly string[],
  taints: readonly string[] = [],
): Draft<Node> {
  return {
    metadata: {
      name: "n1",
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
    spec: { taints: taints.map((key) => ({ key, effect: "NoExecute" })) },
    status: { conditions: [{ type: "Ready", status: ready as "True" }], volumesInUse: inUse },
  };
}

describe("may a volume be detached", () => {
  const out = "node.kubernetes.io/out-of-service";
  const rows = [
    { name: "an unmounted volume is detached", node: node("True", []), want: true },
    {
      name: "a mounted volume of a healthy node is not detached, however long it waits",
      node: node("True", [UNIQUE]),
      want: false,
    },
    {
      name: "a mounted volume of a node of status Unknown is detached after six minutes",
      node: node("Unknown", [UNIQUE]),
      want: true,
    },
    {
      name: "a mounted volume of a node of status Unknown is not detached before six minutes",
      node: node("Unknown", [UNIQUE]),
      early: true,
      want: false,
    },
    {
      name: "a mounted volume of a node with the taint out-of-service is detached at once",
      node: node("Unknown", [UNIQUE], [out]),
      early: true,
      want: true,
    },
    { name: "a node that is gone", node: undefined, early: true, want: false },
    { name: "a node that is long gone", node: undefined, want: true },
  ];
  for (const { name, node: on, early, want } of rows) {
    test(name, () => {
      const attachment: Attachment = {
        object: {
          metadata: { name: "a" },
          spec: { attacher: "csi.example", nodeName: "n1", source: { persistentVolumeName: "v" } },
          status: { attached: true },
        },
        volume,
        node: on as Node | undefined,
        users: [],
        unusedSinceMs: AT_MS,
      };
      const nowMs = AT_MS + SIX_MINUTES_MS - (early === true ? 1 : 0);
      assert.equal(mayDetach(attachment, nowMs), want);
    });
  }

  test("the name that kubelets look for", () => {
    const want = "csi-9072ed11cc1acb5fa433a877ff339b6311d013f33bddd1d0092711a8ace5b16d";
    assert.equal(attachmentName("d", "h", "n"), want);
  });
});

describe("attach and detach in a cluster", () => {
  test("VolumeAttachment: created for a pod, listed in volumesAttached, deleted after the pod", async () => {
    await using cluster = await world();
    await seedPod(cluster, "p", "n1");
    const [attachment] = cluster.list(volumeAttachmentKind);
    assert.deepEqual(attachment?.spec, {
      attacher: "csi.example",
      nodeName: "n1",
      source: { persistentVolumeName: "v" },
    });
    assert.deepEqual(listed(cluster, "n1"), []);
    await driverAttaches(cluster);
    assert.deepEqual(listed(cluster, "n1"), [UNIQUE]);
    assert.deepEqual(
      cluster.events.at(-1)?.message,
      'AttachVolume.Attach succeeded for volume "v" ',
    );

    await cluster.edit(nodeKind, "n1", (n) => void (n.status.volumesInUse = [UNIQUE]));
    await removePod(cluster, "p");
    assert.equal(cluster.list(volumeAttachmentKind).length, 1);
    assert.deepEqual(listed(cluster, "n1"), [UNIQUE]);
    await cluster.edit(nodeKind, "n1", (n) => void delete n.status.volumesInUse);
    assert.deepEqual(cluster.names(volumeAttachmentKind), []);
    assert.deepEqual(listed(cluster, "n1"), []);
  });

  test("a VolumeAttachment of another creator is left alone", async () => {
    await using cluster = await world();
    for (const [name, persistentVolumeName] of [
      ["mine", "v"],
      ["of-nothing", "gone"],
    ] as const) {
      await cluster.seed(volumeAttachmentKind, {
        metadata: { name },
        spec: { attacher: "csi.example", nodeName: "n1", source: { persistentVolumeName } },
      });
    }
    assert.deepEqual(cluster.names(volumeAttachmentKind), ["mine", "of-nothing"]);
    await cluster.edit(volumeAttachmentKind, "mine", (a) => void (a.status.attached = true));
    assert.deepEqual(listed(cluster, "n1"), []);
    await seedPod(cluster, "p", "n1");
    assert.equal(cluster.list(volumeAttachmentKind).length, 3);
    await removePod(cluster, "p");
    assert.deepEqual(cluster.names(volumeAttachmentKind), ["mine", "of-nothing"]);
  });

  test("another node waits for an exclusive volume", async () => {
    await using cluster = await world();
    await seedPod(cluster, "p", "n1");
    await seedPod(cluster, "q", "n2");
    assert.equal(cluster.list(volumeAttachmentKind).length, 1);
    const event = cluster.events.find(({ reason }) => reason === "FailedAttachVolume");
    assert.deepEqual(
      [event?.name, event?.message],
      ["q", 'Waiting for detach for volume "v" Volume is already used by pod(s) p'],
    );
    await removePod(cluster, "p");
    assert.deepEqual(
      cluster.list(volumeAttachmentKind).map(({ spec }) => spec.nodeName),
      ["n2"],
    );
  });

  test("a silent node loses the volume after six minutes", async () => {
    await using cluster = await world();
    await seedPod(cluster, "p", "n1");
    await driverAttaches(cluster);
    await cluster.edit(nodeKind, "n1", ({ status }) => {
      status.volumesInUse = [UNIQUE];
      status.conditions = [{ type: "Ready", status: "Unknown" }];
    });
    await removePod(cluster, "p");
    await cluster.advance(SIX_MINUTES_MS - 1);
    assert.equal(cluster.list(volumeAttachmentKind).length, 1);
    await cluster.advance(1);
    assert.deepEqual(cluster.names(volumeAttachmentKind), []);
  });
});

async function world(): Promise<Cluster> {
  const cluster = await startCluster({ at: AT, controllers: [attachDetach] });
  const n1 = node("True", []);
  await cluster.seed(nodeKind, n1);
  await cluster.seed(nodeKind, { ...n1, metadata: { ...n1.metadata, name: "n2" } });
  const claim = await cluster.seed(persistentVolumeClaimKind, {
    metadata: { name: "data" },
    spec: { volumeName: "v", resources: { requests: { storage: "1Gi" } } },
  });
  await cluster.seed(persistentVolumeKind, {
    metadata: { name: "v" },
    spec: {
      ...volume.spec,
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      claimRef: { namespace: "default", name: "data", uid: claim.metadata.uid ?? "" },
    },
  });
  return cluster;
}

async function seedPod(cluster: Cluster, name: string, nodeName: string): Promise<void> {
  await cluster.seed(podKind, {
    metadata: { name },
    spec: {
      nodeName,
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    },
    status: { phase: "Running" },
  });
}

async function removePod(cluster: Cluster, name: string): Promise<void> {
  const options = { gracePeriodSeconds: 0 };
  assert.ok((await cluster.client.delete(podKind, { namespace: "default", name }, options)).ok);
  await cluster.settle();
}

/** What the driver's attacher writes. */
async function driverAttaches(cluster: Cluster): Promise<void> {
  const [name = ""] = cluster.names(volumeAttachmentKind);
  await cluster.edit(volumeAttachmentKind, name, (a) => void (a.status.attached = true));
}

function listed(cluster: Cluster, name: string): readonly string[] {
  return (cluster.get(nodeKind, name)?.status.volumesAttached ?? []).map((v) => v.name);
}
