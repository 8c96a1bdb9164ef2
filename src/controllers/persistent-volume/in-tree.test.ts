import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { persistentVolumeKind } from "#api/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import type { PersistentVolume } from "#api/generated/core.v1.ts";
import { storageClassKind } from "#api/storage/v1/storage-class.ts";
import { build } from "#testing/build.ts";
import { type Draft, startCluster } from "#testing/cluster.ts";
import { persistentVolumeBinder } from "./binder.ts";
import { provisionerOf, toldMigrated, whyNotDeleted } from "./in-tree.ts";

describe("who provisions", () => {
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

describe("why nobody deletes a volume", () => {
  const rows: readonly [string, Draft<PersistentVolume>, string | undefined][] = [
    ["a driver does", { spec: { csi: { driver: "d", volumeHandle: "h" } } }, undefined],
    ["another's does", { metadata: by("x.io/y"), spec: nfs }, undefined],
    [
      "its driver took it over",
      {
        metadata: {
          annotations: {
            "pv.kubernetes.io/provisioned-by": "kubernetes.io/aws-ebs",
            "pv.kubernetes.io/migrated-to": "ebs.csi.aws.com",
          },
        },
      },
      undefined,
    ],
    [
      "a directory",
      { spec: { hostPath: { path: "/data" } } },
      "host_path deleter only supports /tmp/.+ but received provided /data",
    ],
    [
      "a directory that was provisioned",
      { metadata: by("kubernetes.io/host-path"), spec: { hostPath: { path: "/data" } } },
      "host_path deleter only supports /tmp/.+ but received provided /data",
    ],
    [
      "a file server",
      { spec: nfs },
      'error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
    ],
    [
      "a file server that was provisioned",
      { metadata: by("kubernetes.io/nfs"), spec: nfs },
      "no deletable volume plugin matched",
    ],
    [
      "a local one",
      { spec: { local: { path: "/l" } } },
      'error getting deleter volume plugin for volume "v": no volume plugin matched',
    ],
    [
      "nobody knows whose",
      { metadata: by("kubernetes.io/foo"), spec: nfs },
      "no volume plugin matched name: kubernetes.io/foo",
    ],
  ];
  for (const [name, draft, want] of rows) {
    test(name, () => assert.equal(whyNotDeleted(volume(draft)), want));
  }
});

describe("which driver took it over", () => {
  const migrated = "pv.kubernetes.io/migrated-to";
  const told = (annotations: Readonly<Record<string, string>>) =>
    toldMigrated(volume({ metadata: { annotations } }))?.metadata.annotations?.[migrated];
  const gce = { "volume.beta.kubernetes.io/storage-provisioner": "kubernetes.io/gce-pd" };
  test("is told", () => assert.equal(told(gce), "pd.csi.storage.gke.io"));
  test("once", () => {
    const annotations = { ...gce, [migrated]: "pd.csi.storage.gke.io" };
    assert.equal(toldMigrated(volume({ metadata: { annotations } })), undefined);
  });
  test("and not of others", () => {
    assert.equal(toldMigrated(volume({ metadata: by("x.io/y") })), undefined);
    assert.equal(toldMigrated(volume({})), undefined);
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
