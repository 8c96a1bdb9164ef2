import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { build } from "#testing/build.ts";
import { type Draft, startCluster } from "#testing/cluster.ts";
import { persistentVolumeBinder } from "./binder.ts";
import { deleterOf, provisionerOf, withDeletionFinalizer, withMigratedTo } from "./in-tree.ts";

describe("the provisioner of a StorageClass", () => {
  const rows = [
    ["csi.example", { external: "csi.example" }],
    ["kubernetes.io/aws-ebs", { external: "ebs.csi.aws.com" }],
    ["kubernetes.io/portworx-volume", { external: "pxd.portworx.com" }],
    [
      "kubernetes.io/host-path",
      {
        error:
          'Failed to create provisioner: provisioning in volume plugin "kubernetes.io/host-path" is disabled',
        isKnown: true,
      },
    ],
    ["kubernetes.io/nfs", { error: "no provisionable volume plugin matched", isKnown: false }],
    [
      "kubernetes.io/no-provisioner",
      { error: "no volume plugin matched name: kubernetes.io/no-provisioner", isKnown: false },
    ],
  ] as const;
  for (const [name, want] of rows) test(name, () => assert.deepEqual(provisionerOf(name), want));
});

const volume = (draft: Draft<PersistentVolume>) =>
  build(persistentVolumeKind, {
    ...draft,
    metadata: { name: "v", ...draft.metadata },
    spec: { accessModes: ["ReadWriteOnce"], ...draft.spec },
  });
const by = (provisioner: string) => ({
  annotations: { "pv.kubernetes.io/provisioned-by": provisioner },
});
const nfs = { nfs: { server: "s", path: "/p" } };

describe("deleterOf a PersistentVolume", () => {
  const rows: readonly [
    string,
    Draft<PersistentVolume>,
    "driver" | "controller" | { error: string },
  ][] = [
    [
      "a CSI volume is deleted by its driver",
      { spec: { csi: { driver: "d", volumeHandle: "h" } } },
      "driver",
    ],
    [
      "a volume of an external provisioner is deleted by it",
      { metadata: by("x.io/y"), spec: nfs },
      "driver",
    ],
    [
      "a migrated in-tree volume is deleted by its CSI driver",
      {
        metadata: {
          annotations: {
            "pv.kubernetes.io/provisioned-by": "kubernetes.io/aws-ebs",
            "pv.kubernetes.io/migrated-to": "ebs.csi.aws.com",
          },
        },
      },
      "driver",
    ],
    [
      "hostPath volumes outside of /tmp are refused",
      { spec: { hostPath: { path: "/data" } } },
      { error: "host_path deleter only supports /tmp/.+ but received provided /data" },
    ],
    [
      "a directory that was provisioned",
      { metadata: by("kubernetes.io/host-path"), spec: { hostPath: { path: "/data" } } },
      { error: "host_path deleter only supports /tmp/.+ but received provided /data" },
    ],
    [
      "a hostPath volume below /tmp is deleted by the controller",
      { spec: { hostPath: { path: "/tmp/x" } } },
      "controller",
    ],
    [
      "a hostPath volume below /var/tmp is deleted by the controller",
      { spec: { hostPath: { path: "/var/tmp/x" } } },
      "controller",
    ],
    [
      "a hostPath volume of /tmp itself is refused",
      { spec: { hostPath: { path: "/tmp/" } } },
      { error: "host_path deleter only supports /tmp/.+ but received provided /tmp/" },
    ],
    [
      "a temporary directory that was provisioned",
      { metadata: by("kubernetes.io/host-path"), spec: { hostPath: { path: "/tmp/x" } } },
      "controller",
    ],
    [
      "a directory that is none",
      { metadata: by("kubernetes.io/host-path"), spec: nfs },
      {
        error:
          'failed to create deleter for volume "v": spec.PersistentVolumeSource.HostPath is nil',
      },
    ],
    [
      "an NFS volume has no deleter",
      { spec: nfs },
      {
        error:
          'error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
      },
    ],
    [
      "a file server that was provisioned",
      { metadata: by("kubernetes.io/nfs"), spec: nfs },
      { error: "no deletable volume plugin matched" },
    ],
    [
      "a local volume has no plug-in",
      { spec: { local: { path: "/l" } } },
      { error: 'error getting deleter volume plugin for volume "v": no volume plugin matched' },
    ],
    [
      "an unknown in-tree plug-in",
      { metadata: by("kubernetes.io/foo"), spec: nfs },
      { error: "no volume plugin matched name: kubernetes.io/foo" },
    ],
  ];
  for (const [name, draft, want] of rows) {
    test(name, () => assert.deepEqual(deleterOf(volume(draft)), want));
  }
});

describe("the finalizer of volumes that were provisioned in-tree", () => {
  const held = (
    provisioner: string | undefined,
    persistentVolumeReclaimPolicy: "Delete" | "Retain" | "Recycle",
    finalizers: readonly string[],
    deletionTimestamp?: string,
  ) =>
    withDeletionFinalizer(
      volume({
        metadata: {
          ...(provisioner === undefined ? {} : by(provisioner)),
          finalizers,
          ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
        },
        spec: { ...nfs, persistentVolumeReclaimPolicy },
      }),
    )?.metadata.finalizers;
  const inTree = "kubernetes.io/host-path";
  const ours = "kubernetes.io/pv-controller";
  const external = "external-provisioner.volume.kubernetes.io/finalizer";
  const rows: readonly [string, ReturnType<typeof held>, readonly string[] | undefined][] = [
    [
      "a volume with reclaim policy Delete gets the finalizer",
      held(inTree, "Delete", ["a"]),
      ["a", ours],
    ],
    [
      "a volume that has the finalizer is left alone",
      held(inTree, "Delete", ["a", ours]),
      undefined,
    ],
    [
      "a volume that is being deleted does not get the finalizer",
      held(inTree, "Delete", ["a"], "2030-01-01T00:00:00Z"),
      undefined,
    ],
    [
      "a volume with reclaim policy Retain loses the finalizer",
      held(inTree, "Retain", [ours, "a"]),
      ["a"],
    ],
    [
      "the in-tree finalizer replaces that of the CSI driver",
      held(inTree, "Delete", [external]),
      [ours],
    ],
    [
      "a migrated volume keeps the finalizer of the CSI driver only",
      held("kubernetes.io/aws-ebs", "Delete", [ours, external]),
      [external],
    ],
    ["a volume of a CSI driver is left alone", held("x.io/y", "Delete", [external]), undefined],
    ["a volume that was not provisioned is left alone", held(undefined, "Delete", []), undefined],
  ];
  for (const [name, got, want] of rows) test(name, () => assert.deepEqual(got, want));
});

describe("the annotation migrated-to", () => {
  const migrated = "pv.kubernetes.io/migrated-to";
  const migratedTo = (annotations: Readonly<Record<string, string>>) =>
    withMigratedTo(volume({ metadata: { annotations } }))?.metadata.annotations?.[migrated];
  const gce = { "volume.beta.kubernetes.io/storage-provisioner": "kubernetes.io/gce-pd" };
  test("a volume of a migrated provisioner gets the name of its CSI driver", () =>
    assert.equal(migratedTo(gce), "pd.csi.storage.gke.io"));
  test("a volume that has the annotation is left alone", () => {
    const annotations = { ...gce, [migrated]: "pd.csi.storage.gke.io" };
    assert.equal(withMigratedTo(volume({ metadata: { annotations } })), undefined);
  });
  test("is not set for other provisioners", () => {
    assert.equal(withMigratedTo(volume({ metadata: by("x.io/y") })), undefined);
    assert.equal(withMigratedTo(volume({})), undefined);
  });
});

test("a claim of a class that a driver took over waits for that driver", async () => {
  await using cluster = await startCluster({ controllers: [persistentVolumeBinder()] });
  await cluster.seed(storageClassKind, {
    metadata: { name: "fast" },
    provisioner: "kubernetes.io/aws-ebs",
  });
  await cluster.seed(persistentVolumeClaimKind, {
    metadata: { name: "data" },
    spec: {
      storageClassName: "fast",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  });
  assert.deepEqual(cluster.get(persistentVolumeClaimKind, "data")?.metadata.annotations, {
    "volume.beta.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
    "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
  });
  assert.match(cluster.events.at(-1)?.message ?? "", /external provisioner 'ebs\.csi\.aws\.com'/);
});

test("a temporary directory goes when its claim has gone, and not before", async () => {
  await using cluster = await startCluster({ controllers: [persistentVolumeBinder()] });
  const asked = { accessModes: ["ReadWriteOnce"], storageClassName: "" } as const;
  await cluster.seed(persistentVolumeKind, {
    metadata: { name: "v", ...by("kubernetes.io/host-path") },
    spec: {
      ...asked,
      capacity: { storage: "1Gi" },
      hostPath: { path: "/tmp/x" },
      persistentVolumeReclaimPolicy: "Delete",
    },
  });
  await cluster.seed(persistentVolumeClaimKind, {
    metadata: { name: "data" },
    spec: { ...asked, resources: { requests: { storage: "1Gi" } } },
  });
  const left = () => cluster.get(persistentVolumeKind, "v");
  assert.equal(left()?.status.phase, "Bound");
  await cluster.client.delete(persistentVolumeKind, { name: "v" });
  await cluster.settle();
  assert.deepEqual(left()?.metadata.finalizers, ["kubernetes.io/pv-controller"]);
  await cluster.client.delete(persistentVolumeClaimKind, { namespace: "default", name: "data" });
  await cluster.settle();
  assert.equal(left(), undefined);
});
