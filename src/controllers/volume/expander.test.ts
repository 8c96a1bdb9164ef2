import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { startCluster } from "#testing/cluster.ts";
import { decide, volumeExpander } from "./expander.ts";

const claimRef = { namespace: "default", name: "data", uid: "u" };
const csi = { driver: "csi.example", volumeHandle: "h" };

function claim(asked: string, has: string): PersistentVolumeClaim {
  return {
    metadata: { namespace: "default", name: "data", uid: "u" },
    spec: { volumeName: "v", resources: { requests: { storage: asked } } },
    status: { phase: "Bound", capacity: { storage: has } },
  };
}

function volume(spec: PersistentVolume["spec"]): PersistentVolume {
  return { metadata: { name: "v" }, spec: { claimRef, ...spec }, status: {} };
}

describe("volumeExpander of a PersistentVolumeClaim", () => {
  const rows = [
    {
      name: "more is asked",
      claim: claim("2Gi", "1Gi"),
      volume: volume({ csi }),
      want: "Normal",
    },
    { name: "no more is asked", claim: claim("1Gi", "1024Mi"), volume: volume({ csi }) },
    {
      name: "a claim whose volume is bound to another claim records no event",
      claim: claim("2Gi", "1Gi"),
      volume: volume({ csi, claimRef: { ...claimRef, uid: "other" } }),
    },
    {
      name: "a claim without its volume records no event",
      claim: claim("2Gi", "1Gi"),
      volume: undefined,
    },
  ];
  for (const { name, claim: asked, volume: bound, want } of rows) {
    test(name, () => assert.equal(decide({ claim: asked, volume: bound }).events?.[0]?.type, want));
  }

  test("ExternalExpanding is recorded once for each expansion", async () => {
    await using cluster = await startCluster({ controllers: [volumeExpander] });
    const { spec, status } = claim("1Gi", "1Gi");
    const seeded = await cluster.seed(persistentVolumeClaimKind, {
      metadata: { name: "data" },
      spec,
      status,
    });
    await cluster.seed(persistentVolumeKind, {
      metadata: { name: "v" },
      spec: {
        ...volume({ csi }).spec,
        claimRef: { ...claimRef, uid: seeded.metadata.uid ?? "" },
        capacity: { storage: "1Gi" },
      },
    });
    assert.deepEqual(cluster.events, []);
    await cluster.edit(persistentVolumeClaimKind, "data", (c) => {
      c.spec.resources.requests = { storage: "2Gi" };
    });
    await cluster.edit(persistentVolumeClaimKind, "data", (c) => {
      c.metadata.labels = { touched: "yes" };
    });
    assert.deepEqual(
      cluster.events.map(({ reason, component, message }) => [component, reason, message]),
      [
        [
          "volume_expand",
          "ExternalExpanding",
          "waiting for an external controller to expand this PVC",
        ],
      ],
    );
  });
});
