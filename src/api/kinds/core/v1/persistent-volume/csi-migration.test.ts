import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume, Volume } from "#api/generated/core.v1.ts";
import { build, type Draft } from "#testing/build.ts";
import {
  MIGRATED_DRIVERS,
  migratedPluginOf,
  translateInlineVolume,
  translatePersistentVolume,
} from "./csi-migration.ts";
import { persistentVolumeKind } from "./persistent-volume.ts";

const ZONE = "topology.kubernetes.io/zone";
const OLD_ZONE = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION = "failure-domain.beta.kubernetes.io/region";

const volume = (spec: Draft<PersistentVolume["spec"]>, labels: Record<string, string> = {}) =>
  build(persistentVolumeKind, { metadata: { name: "v", labels }, spec });

const required = (...terms: readonly Record<string, readonly string[]>[]) => ({
  required: {
    nodeSelectorTerms: terms.map((term) => ({
      matchExpressions: Object.entries(term).map(([key, values]) => ({
        ...{ key, operator: "In" as const, values },
      })),
    })),
  },
});

describe("CSI migration: handles of inline volumes", () => {
  const rows: readonly { name: string; source: Omit<Volume, "name">; want: string }[] = [
    {
      name: "EBS by its ID",
      source: { awsElasticBlockStore: { volumeID: "vol-1" } },
      want: "ebs.csi.aws.com/vol-1",
    },
    {
      name: "EBS by a URL with its zone",
      source: { awsElasticBlockStore: { volumeID: "aws://us-east-1a/vol-1" } },
      want: "ebs.csi.aws.com/vol-1",
    },
    {
      name: "EBS by a URL without a zone",
      source: { awsElasticBlockStore: { volumeID: "aws:///vol-1" } },
      want: "ebs.csi.aws.com/vol-1",
    },
    {
      name: "EBS by a URL of something else is an error",
      source: { awsElasticBlockStore: { volumeID: "aws://us-east-1a/disk" } },
      want: "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk)",
    },
    {
      name: "GCE in an unknown zone",
      source: { gcePersistentDisk: { pdName: "disk" } },
      want: "pd.csi.storage.gke.io/projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk",
    },
    {
      name: "a managed Azure disk",
      source: { azureDisk: { diskName: "d", diskURI: "/subscriptions/d", kind: "Managed" } },
      want: "disk.csi.azure.com//subscriptions/d",
    },
    {
      name: "an Azure disk that is not managed is an error",
      source: { azureDisk: { diskName: "d", diskURI: "http://x/d", kind: "Shared" } },
      want: "kind(Shared) is not supported in csi migration",
    },
    {
      name: "a Cinder volume gets the driver cinder.csi.openstack.org",
      source: { cinder: { volumeID: "c" } },
      want: "cinder.csi.openstack.org/c",
    },
    {
      name: "a Portworx volume gets the driver pxd.portworx.com",
      source: { portworxVolume: { volumeID: "p" } },
      want: "pxd.portworx.com/p",
    },
  ];
  for (const { name, source, want } of rows) {
    test(name, () => {
      const result = translateInlineVolume({ name: "data", ...source });
      const got = result.ok
        ? `${result.volume.driver}/${result.volume.volumeHandle}`
        : result.error;
      assert.equal(got, want);
      assert.ok(MIGRATED_DRIVERS.has(migratedPluginOf(source) ?? ""));
    });
  }

  test("volumes of other kinds are not migrated", () => {
    assert.equal(migratedPluginOf({ emptyDir: {}, name: "x" } as Volume), undefined);
    assert.equal(translateInlineVolume({ name: "x", emptyDir: {} }).ok, false);
  });
});

describe("CSI migration: PersistentVolumes", () => {
  const ebs = { awsElasticBlockStore: { volumeID: "vol-1" } };
  const gce = { gcePersistentDisk: { pdName: "d" } };
  const topology = "topology.ebs.csi.aws.com/zone";
  const rows: readonly {
    name: string;
    object: PersistentVolume;
    handle?: string;
    affinity?: PersistentVolume["spec"]["nodeAffinity"];
  }[] = [
    { name: "EBS without a zone keeps no affinity", object: volume(ebs), handle: "vol-1" },
    {
      name: "zones of the node affinity become the driver's topology",
      object: volume({ ...ebs, nodeAffinity: required({ [ZONE]: ["b", "a"], disk: ["ssd"] }) }),
      affinity: required({ [topology]: ["b", "a"], disk: ["ssd"] }),
    },
    {
      name: "the node affinity comes before labels",
      object: volume({ ...ebs, nodeAffinity: required({ [ZONE]: ["a"] }) }, { [ZONE]: "c" }),
      affinity: required({ [topology]: ["a"] }),
    },
    {
      name: "zones of the label are added to each term",
      object: volume(
        { ...ebs, nodeAffinity: required({ x: ["1"] }, { x: ["2"] }) },
        {
          [ZONE]: "b__a__ ",
        },
      ),
      affinity: required(
        { x: ["1"], [topology]: ["a", "b"] },
        { x: ["2"], [topology]: ["a", "b"] },
      ),
    },
    {
      name: "a label alone makes a term",
      object: volume(ebs, { [ZONE]: "a" }),
      affinity: required({ [topology]: ["a"] }),
    },
    {
      name: "old labels of zone and region are replaced",
      object: volume({
        ...ebs,
        nodeAffinity: required({ [OLD_ZONE]: ["a"], [OLD_REGION]: ["r"] }),
      }),
      affinity: required({ [topology]: ["a"], "topology.kubernetes.io/region": ["r"] }),
    },
    {
      name: "a GCE disk of one zone",
      object: volume(gce, { [ZONE]: "us-east1-b" }),
      handle: "projects/UNSPECIFIED/zones/us-east1-b/disks/d",
      affinity: required({ "topology.gke.io/zone": ["us-east1-b"] }),
    },
    {
      name: "a GCE disk of several zones is regional",
      object: volume(gce, { [ZONE]: "us-east1-b__us-east1-c" }),
      handle: "projects/UNSPECIFIED/regions/us-east1/disks/d",
      affinity: required({ "topology.gke.io/zone": ["us-east1-b", "us-east1-c"] }),
    },
    {
      name: "Cinder has a topology of its own",
      object: volume({ cinder: { volumeID: "c" } }, { [ZONE]: "nova" }),
      handle: "c",
      affinity: required({ "topology.cinder.csi.openstack.org/zone": ["nova"] }),
    },
    {
      name: "an Azure disk keeps its affinity as it is",
      object: volume({
        azureDisk: { diskName: "d", diskURI: "/d", kind: "Managed" },
        nodeAffinity: required({ [ZONE]: ["1"] }),
      }),
      handle: "/d",
      affinity: required({ [ZONE]: ["1"] }),
    },
    {
      name: "a Portworx volume keeps its affinity as it is",
      object: volume({ portworxVolume: { volumeID: "p" } }, { [ZONE]: "a" }),
      handle: "p",
    },
  ];
  for (const { name, object, handle, affinity } of rows) {
    test(name, () => {
      const result = translatePersistentVolume(object);
      assert.ok(result.ok);
      if (handle !== undefined) assert.equal(result.volume.volumeHandle, handle);
      assert.deepEqual(result.volume.nodeAffinity, affinity);
    });
  }

  const errors = [
    {
      name: "zones of two regions",
      object: volume(gce, { [ZONE]: "us-east1-b__us-west1-a" }),
      want: "failed to get region from zones: multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]",
    },
    {
      name: "zones of another form",
      object: volume(gce, { [ZONE]: "a__b" }),
      want: "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: a",
    },
  ];
  for (const { name, object, want } of errors) {
    test(`GCE: ${name} are an error`, () => {
      assert.deepEqual(translatePersistentVolume(object), { ok: false, error: want });
    });
  }
});
