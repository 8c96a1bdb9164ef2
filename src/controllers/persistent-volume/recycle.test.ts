import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { persistentVolumeBinder } from "./binder.ts";
import { type Recycler, recycle } from "./recycle.ts";
import { DEFAULT_RECYCLERS, type Recyclers, recyclerPod } from "./recycler-pod.ts";

const RELEASED = "2030-01-01T00:00:00Z";
const DISK = { hostPath: { path: "/data" } };

function volume(source: object = DISK, storage = "5Gi"): PersistentVolume {
  return build(persistentVolumeKind, {
    metadata: { name: "v" },
    spec: {
      capacity: { storage },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Recycle",
      ...source,
    },
    status: { phase: "Released", lastPhaseTransitionTime: RELEASED },
  });
}

function made(of: PersistentVolume = volume(), recyclers: Recyclers = DEFAULT_RECYCLERS): Pod {
  const wanted = recyclerPod(of, recyclers);
  assert.ok(wanted !== undefined);
  return wanted;
}

function beside(existing: Pod | undefined, of: PersistentVolume = volume()): Recycler {
  return { wanted: recyclerPod(of, DEFAULT_RECYCLERS), pod: existing, newEvents: [], reported: [] };
}

function pod(status: object, more: { metadata?: object; spec?: object } = {}): Pod {
  const { metadata, spec } = made();
  return {
    metadata: { ...metadata, uid: "u", creationTimestamp: RELEASED, ...more.metadata },
    spec: { ...spec, ...more.spec },
    status,
  };
}

describe("the recycler pod of a PersistentVolume", () => {
  const seconds = [
    { name: "a directory", source: DISK, storage: "1Gi", want: 60 },
    { name: "a large directory", source: DISK, storage: "10Gi", want: 300 },
    { name: "a share", source: { nfs: { server: "s", path: "/" } }, storage: "1Gi", want: 300 },
  ];
  for (const { name, source, storage, want } of seconds) {
    test(`has time: ${name}`, () => {
      const { spec, metadata } = made(volume(source, storage));
      assert.equal(spec.activeDeadlineSeconds, want);
      assert.deepEqual(spec.volumes, [{ name: "vol", ...source }]);
      assert.deepEqual(metadata, { namespace: "default", name: "recycler-for-v" });
    });
  }

  test("empties a share that others may only read", () => {
    const share = { server: "s", path: "/" };
    const { spec } = made(volume({ nfs: { ...share, readOnly: true } }));
    assert.deepEqual(spec.volumes, [{ name: "vol", nfs: share }]);
  });

  test("is made from a template of the administrator", () => {
    const template: Recyclers["nfs"]["template"] = {
      metadata: { namespace: "upkeep", generateName: "x-", labels: { app: "scrub" } },
      spec: {
        volumes: [{ name: "share" }, { name: "tools", emptyDir: {} }],
        containers: [{ name: "c", image: "scrubber", resources: {} }],
      },
    };
    const recyclers = {
      ...DEFAULT_RECYCLERS,
      nfs: { template, secondsMin: 7, secondsPerGib: 5 },
    };
    const nfs = { server: "s", path: "/" };
    const { metadata, spec } = made(volume({ nfs }, "2Gi"), recyclers);
    const name = "recycler-for-v";
    assert.deepEqual(metadata, { namespace: "upkeep", name, labels: { app: "scrub" } });
    assert.deepEqual(spec.volumes, [
      { name: "share", nfs },
      { name: "tools", emptyDir: {} },
    ]);
    assert.equal(spec.activeDeadlineSeconds, 10);
    assert.equal(spec.containers?.[0]?.image, "scrubber");
  });

  const [main] = made().spec.containers!;
  const rows: { name: string; recycler: Pod; step: string; removes: boolean }[] = [
    {
      name: "a running recycler pod is waited for",
      recycler: pod({ phase: "Running" }),
      step: "waiting",
      removes: false,
    },
    {
      name: "a recycler pod that succeeded is deleted, and the volume is empty",
      recycler: pod({ phase: "Succeeded" }),
      step: "emptied",
      removes: true,
    },
    {
      name: "a recycler pod that failed is deleted, and recycling has failed",
      recycler: pod({ phase: "Failed" }),
      step: "failed",
      removes: true,
    },
    {
      name: "a recycler pod that is being deleted is waited for",
      recycler: pod({ phase: "Succeeded" }, { metadata: { deletionTimestamp: RELEASED } }),
      step: "waiting",
      removes: false,
    },
    {
      name: "a pod of the name with another command is waited for",
      recycler: pod(
        { phase: "Succeeded" },
        { spec: { containers: [{ ...main, args: ["-c", "true"] }] } },
      ),
      step: "waiting",
      removes: true,
    },
    {
      name: "a pod of the name with another path is waited for",
      recycler: pod(
        { phase: "Succeeded" },
        { spec: { volumes: [{ name: "vol", hostPath: { path: "/other" } }] } },
      ),
      step: "waiting",
      removes: true,
    },
    {
      name: "ran before the volume was released",
      recycler: pod(
        { phase: "Succeeded" },
        { metadata: { creationTimestamp: "2029-12-31T23:59:59Z" } },
      ),
      step: "waiting",
      removes: true,
    },
  ];
  for (const { name, recycler, step, removes } of rows) {
    test(name, () => {
      const decided = recycle(volume(), beside(recycler));
      assert.equal(decided.step, step);
      assert.deepEqual(
        decided.writes.map(({ op }) => op),
        removes ? ["delete"] : [],
      );
    });
  }

  test("says why it failed", () => {
    const failed = recycle(volume(), beside(pod({ phase: "Failed", message: "no disk" })));
    assert.ok(failed.step === "failed");
    assert.equal(failed.why, "Recycle failed: failed to recycle volume: no disk");
    const other = volume({ csi: { driver: "d", volumeHandle: "h" } });
    const none = recycle(other, beside(undefined, other));
    assert.ok(none.step === "failed");
    assert.equal(none.why, "No recycler plugin found for the volume!");
  });
});

describe("recycling in a cluster", () => {
  async function released(): Promise<Cluster> {
    const cluster = await startCluster({ at: RELEASED, controllers: [persistentVolumeBinder()] });
    const { metadata, spec } = volume();
    await cluster.seed(persistentVolumeKind, { metadata, spec });
    await cluster.seed(persistentVolumeClaimKind, {
      metadata: { name: "data", namespace: "default" },
      spec: {
        storageClassName: "",
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
      },
    });
    assert.equal(cluster.get(persistentVolumeKind, "v")?.status.phase, "Bound");
    return cluster;
  }
  const finish = (cluster: Cluster, phase: "Succeeded" | "Failed"): Promise<unknown> =>
    cluster.edit(podKind, "recycler-for-v", (draft) => void (draft.status.phase = phase));

  test("Recycle: a pod scrubs the volume, and it becomes Available", async () => {
    await using cluster = await released();
    await cluster.client.delete(persistentVolumeClaimKind, { namespace: "default", name: "data" });
    await cluster.settle();
    assert.equal(cluster.get(persistentVolumeKind, "v")?.status.phase, "Released");
    assert.deepEqual(cluster.names(podKind), ["recycler-for-v"]);
    await finish(cluster, "Succeeded");
    const free = cluster.get(persistentVolumeKind, "v");
    assert.equal(free?.status.phase, "Available");
    assert.equal(free?.spec.claimRef, undefined);
    assert.deepEqual(cluster.names(podKind), []);
    assert.ok(cluster.events.some(({ reason }) => reason === "VolumeRecycled"));
  });

  test("Recycle: a failed recycler pod is reported and replaced", async () => {
    await using cluster = await released();
    await cluster.client.delete(persistentVolumeClaimKind, { namespace: "default", name: "data" });
    await cluster.settle();
    const first = cluster.get(podKind, "recycler-for-v")?.metadata.uid;
    await finish(cluster, "Failed");
    assert.equal(cluster.get(persistentVolumeKind, "v")?.status.phase, "Failed");
    const second = cluster.get(podKind, "recycler-for-v")?.metadata.uid;
    assert.ok(second !== undefined && second !== first);
    await finish(cluster, "Succeeded");
    assert.equal(cluster.get(persistentVolumeKind, "v")?.status.phase, "Available");
  });

  test("Recycle: Events of the recycler pod are copied to the volume, once", async () => {
    await using cluster = await released();
    await cluster.client.delete(persistentVolumeClaimKind, { namespace: "default", name: "data" });
    await cluster.settle();
    const { uid = "" } = cluster.get(podKind, "recycler-for-v")?.metadata ?? {};
    const seedEvent = (
      name: string,
      type: string,
      message: string,
      about: string,
    ): Promise<unknown> =>
      cluster.seed(eventKind, {
        metadata: { name },
        involvedObject: { kind: "Pod", namespace: "default", name: "recycler-for-v", uid: about },
        type,
        message,
      });
    await seedEvent("one", "Normal", "Pulling image", uid);
    await seedEvent("old", "Normal", "of an earlier pod", "another");
    await cluster.advance(10_000);
    await seedEvent("two", "Warning", "no image", uid);
    await finish(cluster, "Failed");
    const copied = cluster.events
      .filter(({ reason }) => reason === "RecyclerPod")
      .map(({ type, message, name }) => `${name} ${type} ${message}`);
    assert.deepEqual(copied, [
      "v Normal Recycler pod: Pulling image",
      "v Warning Recycler pod: no image",
    ]);
  });

  test("a volume is left alone while pods still use its claim", async () => {
    await using cluster = await released();
    const volumes = [{ name: "d", persistentVolumeClaim: { claimName: "data" } }];
    const containers = [{ name: "c", image: "i" }];
    await cluster.seed(podKind, { metadata: { name: "user" }, spec: { volumes, containers } });
    await cluster.client.delete(persistentVolumeClaimKind, { namespace: "default", name: "data" });
    await cluster.settle();
    assert.deepEqual(cluster.names(podKind), ["user"]);
    const event = cluster.events.find(({ reason }) => reason === "VolumeFailedRecycle");
    assert.equal(event?.message, "Volume is used by pods: default/user");
    await cluster.edit(podKind, "user", (draft) => void (draft.status.phase = "Succeeded"));
    assert.deepEqual(cluster.names(podKind), ["recycler-for-v", "user"]);
  });
});
