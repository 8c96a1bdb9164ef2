import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { type Draft, startCluster } from "#testing/cluster.ts";
import { decide, ephemeralVolumes } from "./ephemeral.ts";

const template = {
  metadata: { labels: { app: "web" } },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
  },
} as const;
const volumes = [{ name: "scratch", ephemeral: { volumeClaimTemplate: template } }];
const spec = { containers: [{ name: "c", image: "i", resources: {} }], volumes };
const pod: Pod = { metadata: { namespace: "default", name: "p", uid: "u" }, spec, status: {} };
const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true };

function claim(ownerReferences: readonly (typeof owner)[]): PersistentVolumeClaim {
  const metadata = { namespace: "default", name: "p-scratch", ownerReferences };
  return { metadata, spec: { resources: {} }, status: {} };
}

describe("ephemeral volumes", () => {
  const rows = [
    { name: "a missing claim is created", claim: undefined, writes: 1 },
    { name: "a claim of the pod is left alone", claim: claim([owner]), writes: 0 },
    {
      name: "a claim of the name that the pod does not own is reported by an event",
      claim: claim([]),
      writes: 0,
      event:
        "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p (pod is not owner)",
    },
    {
      name: "a pod that is being deleted gets no claim",
      pod: { deletionTimestamp: "2030-01-01T00:00:00Z" },
      writes: 0,
    },
  ];
  for (const { name, claim: found, pod: meta, writes, event } of rows) {
    test(name, () => {
      const asked = { ...pod, metadata: { ...pod.metadata, ...meta } };
      const outcome = decide({ pod: asked, claims: new Map(found && [["p-scratch", found]]) });
      assert.equal(outcome.writes?.length ?? 0, writes);
      assert.equal(outcome.events?.[0]?.message, event);
    });
  }

  test("in a cluster the claim is the pod's, and made again when it goes", async () => {
    await using cluster = await startCluster({ controllers: [ephemeralVolumes] });
    const made = await cluster.seed(podKind, { metadata: { name: "p" }, spec } as Draft<Pod>);
    const [first] = cluster.list(persistentVolumeClaimKind);
    assert.equal(first?.metadata.name, "p-scratch");
    assert.deepEqual(first?.metadata.labels, { app: "web" });
    assert.equal(first?.metadata.ownerReferences?.[0]?.uid, made.metadata.uid);
    assert.equal(first?.spec.resources.requests?.storage, "1Gi");
    const key = { namespace: "default", name: "p-scratch" };
    assert.ok((await cluster.client.delete(persistentVolumeClaimKind, key)).ok);
    await cluster.settle();
    const [second] = cluster.list(persistentVolumeClaimKind);
    assert.notEqual(second?.metadata.uid, undefined);
    assert.notEqual(second?.metadata.uid, first?.metadata.uid);
  });
});
