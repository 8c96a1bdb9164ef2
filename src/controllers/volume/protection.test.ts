import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { volumeAttributesClassKind } from "#api/kinds/storage/v1/volume-attributes-class.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { attributesClassProtection } from "./attributes-class-protection.ts";
import { claimProtection, usesClaim } from "./claim-protection.ts";
import { protect } from "./finalizer.ts";
import { volumeProtection } from "./volume-protection.ts";

const AT = "2030-01-01T00:00:00Z";
const FINALIZER = "kubernetes.io/pv-protection";

const rules = [
  { name: "a live object gets the finalizer", meta: {}, used: false, want: [FINALIZER] },
  {
    name: "other finalizers are kept",
    meta: { finalizers: ["a/b"] },
    used: true,
    want: ["a/b", FINALIZER],
  },
  {
    name: "an object that has the finalizer is left alone",
    meta: { finalizers: [FINALIZER] },
    used: false,
  },
  {
    name: "a deleted object in use keeps the finalizer",
    meta: { deletionTimestamp: AT, finalizers: [FINALIZER] },
    used: true,
  },
  {
    name: "deleted and unused: let go",
    meta: { deletionTimestamp: AT, finalizers: [FINALIZER, "a/b"] },
    used: false,
    want: ["a/b"],
  },
  {
    name: "deleted without it: none of our business",
    meta: { deletionTimestamp: AT, finalizers: ["a/b"] },
    used: false,
  },
];

describe("protection of PersistentVolumes by finalizer", () => {
  for (const { name, meta, used, want } of rules) {
    test(name, () => {
      const object: PersistentVolume = { metadata: { name: "v", ...meta }, spec: {}, status: {} };
      const { writes = [] } = protect(persistentVolumeKind, FINALIZER, { object, used });
      const written = writes.flat().map((w) => ("object" in w ? w.object.metadata.finalizers : w));
      assert.deepEqual(written, want === undefined ? [] : [want]);
    });
  }
});

const ephemeral = { name: "scratch", ephemeral: {} } as const;
const named = { name: "data", persistentVolumeClaim: { claimName: "p-scratch" } } as const;
const owners = [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u1", controller: true }];
const uses = [
  { name: "a pod on a node", pod: { volumes: [named], nodeName: "n" }, want: true },
  { name: "a pod that waits", pod: { volumes: [named] }, want: false },
  {
    name: "a pod uses the claim of its ephemeral volume",
    pod: { volumes: [ephemeral], nodeName: "n" },
    owners,
    want: true,
  },
  {
    name: "a pod does not use another's claim of the same name",
    pod: { volumes: [ephemeral], nodeName: "n" },
    want: false,
  },
  {
    name: "a pod that was shut down does not use its claim",
    pod: { volumes: [ephemeral], nodeName: "n" },
    owners,
    meta: { deletionTimestamp: AT, deletionGracePeriodSeconds: 0 },
    want: false,
  },
];

describe("use of a claim", () => {
  for (const { name, pod, meta, owners: ownerReferences, want } of uses) {
    test(name, () => {
      const metadata = { namespace: "default", name: "p", uid: "u1", ...meta };
      const claim: PersistentVolumeClaim = {
        metadata: {
          namespace: "default",
          name: "p-scratch",
          ...(ownerReferences === undefined ? {} : { ownerReferences }),
        },
        spec: { resources: {} },
        status: {},
      };
      const user: Pod = { metadata, spec: { containers: [], ...pod }, status: {} };
      assert.equal(usesClaim(user, claim), want);
    });
  }
});

const claimDraft: Draft<PersistentVolumeClaim> = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

describe("protection in a cluster", () => {
  test("a deleted claim goes with the last pod that uses it", async () => {
    await using cluster = await startCluster({ controllers: [claimProtection] });
    await cluster.seed(persistentVolumeClaimKind, claimDraft);
    await cluster.seed(podKind, {
      metadata: { name: "p" },
      spec: {
        nodeName: "n",
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      },
    });
    await remove(cluster, persistentVolumeClaimKind, "data");
    const held = cluster.get(persistentVolumeClaimKind, "data");
    assert.notEqual(held?.metadata.deletionTimestamp, undefined);
    assert.deepEqual(held?.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
    await remove(cluster, podKind, "p");
    assert.deepEqual(cluster.names(persistentVolumeClaimKind), []);
  });

  test("a deleted volume goes when it is no longer bound", async () => {
    await using cluster = await startCluster({ controllers: [volumeProtection] });
    await cluster.seed(persistentVolumeKind, {
      metadata: { name: "v" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/v" },
      },
      status: { phase: "Bound" },
    });
    await remove(cluster, persistentVolumeKind, "v");
    assert.deepEqual(cluster.names(persistentVolumeKind), ["v"]);
    await cluster.edit(persistentVolumeKind, "v", (v) => void (v.status.phase = "Released"));
    assert.deepEqual(cluster.names(persistentVolumeKind), []);
  });

  test("a deleted class goes when no claim names it", async () => {
    await using cluster = await startCluster({ controllers: [attributesClassProtection] });
    await cluster.seed(volumeAttributesClassKind, {
      metadata: { name: "gold" },
      driverName: "d",
      parameters: { iops: "9" },
    });
    await cluster.seed(persistentVolumeClaimKind, {
      ...claimDraft,
      status: { currentVolumeAttributesClassName: "gold" },
    });
    await remove(cluster, volumeAttributesClassKind, "gold");
    assert.deepEqual(cluster.names(volumeAttributesClassKind), ["gold"]);
    await cluster.edit(
      persistentVolumeClaimKind,
      "data",
      (claim) => void delete claim.status.currentVolumeAttributesClassName,
    );
    assert.deepEqual(cluster.names(volumeAttributesClassKind), []);
  });
});

async function remove(
  cluster: Cluster,
  kind: Parameters<Cluster["client"]["delete"]>[0],
  name: string,
): Promise<void> {
  const namespace = kind.scope === "Namespaced" ? "default" : undefined;
  const options = { gracePeriodSeconds: 0 };
  assert.ok((await cluster.client.delete(kind, { namespace, name }, options)).ok);
  await cluster.settle();
}
