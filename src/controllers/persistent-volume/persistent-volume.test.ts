import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { persistentVolumeBinder } from "./binder.ts";
import { bestVolume, misfit } from "./binding.ts";
import { defaultStorageClass } from "./default-class.ts";
import { decideVolume } from "./volume.ts";

type VolumeSpec = PersistentVolume["spec"];
type ClaimSpec = PersistentVolumeClaim["spec"];

const binder = persistentVolumeBinder({ localVolumes: { directory: "/data" } });
const ref = { namespace: "default", name: "data", uid: "u" };

function volume(
  name: string,
  storage: string,
  spec: VolumeSpec = {},
  labels = {},
): PersistentVolume {
  return {
    metadata: { name, labels },
    spec: {
      capacity: { storage },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path: `/${name}` },
      ...spec,
    },
    status: { phase: "Available" },
  };
}

function claim(spec: Partial<ClaimSpec> = {}, storage = "2Gi"): PersistentVolumeClaim {
  return {
    metadata: { namespace: "default", name: "data", uid: "u" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, ...spec },
    status: { phase: "Pending" },
  };
}

const rwx = { accessModes: ["ReadWriteOnce", "ReadWriteMany"] } as const;
const matches: {
  name: string;
  claim?: PersistentVolumeClaim;
  volumes: readonly PersistentVolume[];
  delayed?: boolean;
  want: string | undefined;
}[] = [
  {
    name: "the smallest volume that is large enough is taken",
    volumes: [volume("a", "9Gi"), volume("b", "3Gi")],
    want: "b",
  },
  {
    name: "a volume that is too small is not taken",
    volumes: [volume("a", "1Gi")],
    want: undefined,
  },
  {
    name: "capacities are compared whatever their unit",
    volumes: [volume("a", "2147483648")],
    want: "a",
  },
  {
    name: "the volume with the fewest access modes is taken",
    volumes: [volume("a", "2Gi", rwx), volume("b", "9Gi")],
    want: "b",
  },
  {
    name: "all that is asked is allowed",
    claim: claim({ accessModes: ["ReadWriteMany"] }),
    volumes: [volume("b", "2Gi"), volume("a", "9Gi", rwx)],
    want: "a",
  },
  {
    name: "a volume of another storageClassName is not taken",
    volumes: [volume("a", "2Gi", { storageClassName: "x" })],
    want: undefined,
  },
  {
    name: "a volume of another volumeMode is not taken",
    volumes: [volume("a", "2Gi", { volumeMode: "Block" })],
    want: undefined,
  },
  {
    name: "the labels that are asked for",
    claim: claim({ selector: { matchLabels: { disk: "ssd" } } }),
    volumes: [volume("a", "2Gi"), volume("b", "9Gi", {}, { disk: "ssd" })],
    want: "b",
  },
  {
    name: "a volume whose claimRef names the claim is taken before all others",
    volumes: [volume("a", "2Gi"), volume("b", "9Gi", { claimRef: { ...ref, uid: "" } })],
    want: "b",
  },
  {
    name: "a volume whose claimRef has another uid is not taken",
    volumes: [volume("a", "2Gi", { claimRef: { ...ref, uid: "other" } })],
    want: undefined,
  },
  {
    name: "with WaitForFirstConsumer free volumes are left to the scheduler",
    volumes: [volume("a", "2Gi")],
    delayed: true,
    want: undefined,
  },
  {
    name: "with WaitForFirstConsumer a volume whose claimRef names the claim is taken",
    volumes: [volume("a", "2Gi", { claimRef: ref })],
    delayed: true,
    want: "a",
  },
];

describe("PersistentVolume for a claim", () => {
  for (const { name, claim: asked = claim(), volumes, delayed = false, want } of matches) {
    test(name, () => assert.equal(bestVolume(asked, volumes, delayed)?.metadata.name, want));
  }

  test("misfit says why the requested volume cannot be bound", () => {
    assert.equal(misfit(volume("a", "2Gi"), claim()), undefined);
    assert.equal(misfit(volume("a", "1Gi"), claim()), "requested PV is too small");
    const fast = volume("a", "2Gi", { storageClassName: "fast" });
    assert.equal(misfit(fast, claim()), "storageClassName does not match");
    const shared = claim({ accessModes: ["ReadWriteMany"] });
    assert.equal(misfit(volume("a", "2Gi"), shared), "incompatible accessMode");
  });
});

const provisionedBy = (by: string): PersistentVolume => {
  const made = volume("a", "2Gi", { claimRef: ref, persistentVolumeReclaimPolicy: "Delete" });
  const metadata = { ...made.metadata, annotations: { "pv.kubernetes.io/provisioned-by": by } };
  return { ...made, metadata, status: { phase: "Bound" } };
};

describe("PersistentVolume without its claim", () => {
  const kept = volume("a", "2Gi", { claimRef: ref });
  const { hostPath: _, ...elsewhere } = kept.spec;
  const recycled = {
    ...elsewhere,
    csi: { driver: "d", volumeHandle: "h" },
    persistentVolumeReclaimPolicy: "Recycle",
  } as const;
  const rows = [
    { name: "ours is deleted", volume: provisionedBy("k8ts.io/local-path"), next: "delete" },
    { name: "another's is left to the other", volume: provisionedBy("csi.example") },
    {
      name: "no plug-in can delete it",
      volume: {
        ...provisionedBy("kubernetes.io/gone"),
        metadata: {
          ...provisionedBy("kubernetes.io/gone").metadata,
          finalizers: ["kubernetes.io/pv-controller"],
        },
      },
      next: "Failed",
      event: "VolumeFailedDelete",
    },
    { name: "reclaim policy Retain keeps a released volume", volume: kept },
    {
      name: "reclaim policy Recycle without a recycler fails with VolumeFailedRecycle",
      volume: { ...kept, spec: recycled },
      next: "Failed",
      event: "VolumeFailedRecycle",
    },
  ];
  const decided = (lone: PersistentVolume, phase: "Bound" | "Released") => {
    const state = { volume: { ...lone, status: { phase } }, claim: undefined, provisions: true };
    const { writes = [], events = [] } = decideVolume(state);
    const ops = writes.flat().map((write) => {
      return write.op === "update" ? (write.object as PersistentVolume).status.phase : write.op;
    });
    return { ops, event: events[0]?.reason };
  };
  for (const { name, volume: lone, next, event } of rows) {
    test(name, () => {
      assert.deepEqual(decided(lone, "Bound"), { ops: ["Released"], event: undefined });
      assert.deepEqual(decided(lone, "Released"), { ops: next === undefined ? [] : [next], event });
    });
  }
});

describe("binder in a cluster", () => {
  test("a claim finds its volume, releases it, and the volume is kept", async () => {
    await using cluster = await startCluster({ controllers: [binder] });
    await cluster.seed(persistentVolumeKind, { ...draft(volume("big", "5Gi")), status: {} });
    await cluster.seed(persistentVolumeClaimKind, draft(claim({ storageClassName: "" })));
    const bound = cluster.get(persistentVolumeClaimKind, "data")!;
    assert.equal(bound.spec.volumeName, "big");
    assert.deepEqual(bound.status, {
      phase: "Bound",
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "5Gi" },
    });
    assert.deepEqual(bound.metadata.annotations, {
      "pv.kubernetes.io/bind-completed": "yes",
      "pv.kubernetes.io/bound-by-controller": "yes",
    });
    assert.deepEqual(phases(cluster), { big: "Bound" });
    await remove(cluster, "data");
    assert.deepEqual(phases(cluster), { big: "Released" });
  });

  test("of two claims one waits until a volume comes", async () => {
    await using cluster = await startCluster({ controllers: [binder] });
    await cluster.seed(persistentVolumeKind, draft(volume("v1", "5Gi")));
    for (const name of ["a", "b"]) await seedClaim(cluster, name, { storageClassName: "" });
    assert.deepEqual(claimPhases(cluster), { a: "Bound", b: "Pending" });
    assert.ok(
      cluster.events.some(
        ({ reason, message, component }) =>
          reason === "FailedBinding" &&
          component === "persistentvolume-controller" &&
          message === "no persistent volumes available for this claim and no storage class is set",
      ),
    );
    await cluster.seed(persistentVolumeKind, draft(volume("v2", "5Gi")));
    assert.deepEqual(claimPhases(cluster), { a: "Bound", b: "Bound" });
  });

  test("a claim that loses its volume is lost", async () => {
    await using cluster = await startCluster({ controllers: [binder] });
    await cluster.seed(persistentVolumeKind, draft(volume("v1", "5Gi")));
    await seedClaim(cluster, "a", { storageClassName: "" });
    assert.ok((await cluster.client.delete(persistentVolumeKind, { name: "v1" })).ok);
    await cluster.settle();
    assert.deepEqual(claimPhases(cluster), { a: "Lost" });
    assert.ok(cluster.events.some(({ reason }) => reason === "ClaimLost"));
  });

  test("a default class that comes later is given to claims without one", async () => {
    await using cluster = await startCluster({ controllers: [binder] });
    await seedClaim(cluster, "a", {});
    await cluster.seed(storageClassKind, {
      metadata: {
        name: "ext",
        annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
      },
      provisioner: "csi.example",
    });
    const { spec, metadata } = cluster.get(persistentVolumeClaimKind, "a")!;
    assert.equal(spec.storageClassName, "ext");
    assert.equal(metadata.annotations?.["volume.kubernetes.io/storage-provisioner"], "csi.example");
    assert.ok(cluster.events.some(({ reason }) => reason === "ExternalProvisioning"));
  });

  test("the default class waits for a pod, makes a directory's volume and deletes it", async () => {
    await using cluster = await startCluster({ controllers: [binder, defaultStorageClass] });
    await cluster.seed(namespaceKind, { metadata: { name: "kube-system" } });
    assert.deepEqual(cluster.names(storageClassKind), ["standard"]);
    await cluster.seed(nodeKind, {
      metadata: { name: "n1", labels: { "kubernetes.io/hostname": "host1" } },
    });
    await seedClaim(cluster, "data", {});
    assert.deepEqual(cluster.names(persistentVolumeKind), []);
    assert.equal(cluster.events.at(-1)?.reason, "WaitForFirstConsumer");
    await cluster.seed(podKind, {
      metadata: { name: "p" },
      spec: {
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
      },
    });
    assert.equal(cluster.events.at(-1)?.message, "waiting for pod p to be scheduled");
    // What the scheduler writes.
    await cluster.edit(persistentVolumeClaimKind, "data", ({ metadata }) => {
      metadata.annotations = { "volume.kubernetes.io/selected-node": "n1" };
    });
    const [made] = cluster.list(persistentVolumeKind);
    const { metadata, spec, status } = made!;
    const uid = cluster.get(persistentVolumeClaimKind, "data")?.metadata.uid;
    assert.equal(metadata.name, `pvc-${uid}`);
    assert.equal(status.phase, "Bound");
    assert.deepEqual(spec.hostPath, {
      path: `/data/pvc-${uid}_default_data`,
      type: "DirectoryOrCreate",
    });
    const [term] = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    assert.deepEqual(term?.matchExpressions?.[0]?.values, ["host1"]);
    assert.deepEqual(claimPhases(cluster), { data: "Bound" });
    assert.ok(cluster.events.some(({ reason }) => reason === "ProvisioningSucceeded"));
    await remove(cluster, "data");
    assert.deepEqual(cluster.names(persistentVolumeKind), []);
  });
});

function draft<T extends PersistentVolume | PersistentVolumeClaim>(object: T): Draft<T> {
  const { uid: _, ...metadata } = object.metadata;
  return { ...object, metadata } as Draft<T>;
}

async function seedClaim(cluster: Cluster, name: string, spec: Partial<ClaimSpec>): Promise<void> {
  await cluster.seed(persistentVolumeClaimKind, { ...claim(spec), metadata: { name } });
}

async function remove(cluster: Cluster, name: string): Promise<void> {
  const key = { namespace: "default", name };
  assert.ok((await cluster.client.delete(persistentVolumeClaimKind, key)).ok);
  await cluster.settle();
}

const phases = (cluster: Cluster) =>
  Object.fromEntries(
    cluster.list(persistentVolumeKind).map((v) => [v.metadata.name, v.status.phase]),
  );

const claimPhases = (cluster: Cluster) =>
  Object.fromEntries(
    cluster.list(persistentVolumeClaimKind).map((c) => [c.metadata.name, c.status.phase]),
  );

test("FailedBinding is recorded periodically until the claim is bound", async () => {
  await using cluster = await startCluster({ controllers: [persistentVolumeBinder()] });
  const { metadata, spec } = claim();
  await cluster.seed(persistentVolumeClaimKind, { metadata, spec });
  const before = cluster.events.length;
  await cluster.advance(60_000);
  assert.equal(cluster.events.length, before + 4);
  assert.equal(cluster.events.at(-1)?.reason, "FailedBinding");
  const free = volume("a", "2Gi");
  await cluster.seed(persistentVolumeKind, { metadata: free.metadata, spec: free.spec });
  assert.equal(cluster.get(persistentVolumeClaimKind, "data")?.status.phase, "Bound");
  const afterBinding = cluster.events.length;
  await cluster.advance(3_600_000);
  assert.equal(cluster.events.length, afterBinding);
});
