import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { DeviceToleration } from "#api/generated/resource.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { build } from "#testing/build.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { describeOutcome, type OutcomeText } from "#testing/decisions.ts";
import { deviceTaintEviction, type TaintedDevice } from "./device-taint-eviction.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const ago = (seconds: number): string => timeFromMs(NOW_MS - seconds * 1000);
const taint = (key: string, seconds = 0) =>
  ({ key, effect: "NoExecute", timeAdded: ago(seconds) }) as const;
const tolerated = (key: string, tolerationSeconds?: number): DeviceToleration => ({
  ...{ key, operator: "Exists", effect: "NoExecute" },
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});

describe("deviceTaintEviction: decide", () => {
  const gone: OutcomeText = {
    writes: ["patch Pod p/status", "delete Pod p"],
    events: ["Normal DeviceTaintManagerEviction: Marking for deletion"],
  };
  const rows: {
    name: string;
    devices: readonly TaintedDevice[];
    scheduled?: string;
    going?: boolean;
    want: OutcomeText;
  }[] = [
    { name: "a pod whose devices have no taint is left alone", devices: [], want: { writes: [] } },
    {
      name: "an eviction is cancelled when the taint is gone",
      devices: [],
      scheduled: "u",
      want: {
        writes: [],
        events: ["Normal DeviceTaintManagerEviction: Cancelling deletion"],
      },
    },
    {
      name: "an eviction that was scheduled for another pod of the name is forgotten",
      devices: [],
      scheduled: "old",
      want: { writes: [] },
    },
    {
      name: "a pod with a tainted device is evicted",
      devices: [{ taints: [taint("k")], tolerations: [] }],
      want: gone,
    },
    {
      name: "a pod that tolerates the taint without limit stays",
      devices: [{ taints: [taint("k")], tolerations: [tolerated("k")] }],
      want: { writes: [] },
    },
    {
      name: "tolerated for a while, from when it was tainted",
      devices: [{ taints: [taint("k", 20)], tolerations: [tolerated("k", 60)] }],
      want: { writes: [], recheckInMs: 40_000 },
    },
    {
      name: "tolerated for a while that is over",
      devices: [{ taints: [taint("k", 60)], tolerations: [tolerated("k", 60)] }],
      want: gone,
    },
    {
      name: "the shorter of two tolerations counts",
      devices: [{ taints: [taint("k")], tolerations: [tolerated("k", 60), tolerated("k", 5)] }],
      want: { writes: [], recheckInMs: 5_000 },
    },
    {
      name: "another taint is not tolerated",
      devices: [{ taints: [taint("k"), taint("z")], tolerations: [tolerated("k")] }],
      want: gone,
    },
    {
      name: "a toleration of other effects is none",
      devices: [{ taints: [taint("k")], tolerations: [{ key: "k", operator: "Exists" }] }],
      want: gone,
    },
    {
      name: "a pod that is being deleted is left alone",
      devices: [{ taints: [taint("k")], tolerations: [] }],
      going: true,
      want: { writes: [] },
    },
  ];
  for (const { name, devices, scheduled, going, want } of rows) {
    test(name, () => {
      const pod = build(podKind, {
        metadata: {
          ...{ namespace: "default", name: "p", uid: "u" },
          ...(going ? { deletionTimestamp: ago(1) } : {}),
        },
        spec: { containers: [{ name: "c", image: "i" }] },
      });
      const key = { namespace: "default", name: "p" };
      const remembered = scheduled === undefined ? undefined : { uid: scheduled };
      const state = { key, pod, devices, scheduled: remembered };
      assert.deepEqual(describeOutcome(deviceTaintEviction.decide(state, NOW_MS)), want);
    });
  }
});

describe("device taint eviction in a cluster", () => {
  test("only users of the tainted device go, each in its time", async () => {
    await using cluster = await start();
    await user(cluster, "plain", "d1");
    await user(cluster, "other", "d2");
    await user(cluster, "ever", "d1", [tolerated("k")]);
    await user(cluster, "patient", "d1", [tolerated("k", 3600)]);
    await slice(cluster, "old", 1, true); // an older pool generation is ignored
    assert.deepEqual(cluster.names(podKind), ["ever", "other", "patient", "plain"]);
    await cluster.edit(resourceSliceKind, "new", (draft) => {
      draft.spec.devices![0]!.taints = [
        { key: "k", effect: "NoExecute", timeAdded: timeFromMs(cluster.clock.nowMs()) },
      ];
    });
    assert.deepEqual(cluster.names(podKind), ["ever", "other", "patient"]);
    await cluster.advance(3_599_000);
    assert.deepEqual(cluster.names(podKind), ["ever", "other", "patient"]);
    await cluster.advance(1_000);
    assert.deepEqual(cluster.names(podKind), ["ever", "other"]);
    assert.deepEqual(
      cluster.events.map(({ name, message }) => `${name}: ${message}`),
      ["plain: Marking for deletion", "patient: Marking for deletion"],
    );
  });

  test("a taint that goes in time spares the pod", async () => {
    await using cluster = await start();
    await user(cluster, "patient", "d1", [tolerated("k", 3600)]);
    const set = (tainted: boolean) =>
      cluster.edit(resourceSliceKind, "new", (draft) => {
        const timeAdded = timeFromMs(cluster.clock.nowMs());
        draft.spec.devices![0]!.taints = tainted
          ? [{ key: "k", effect: "NoExecute", timeAdded }]
          : [];
      });
    await set(true);
    await cluster.advance(1_800_000);
    await set(false);
    await cluster.advance(86_400_000);
    assert.deepEqual(cluster.names(podKind), ["patient"]);
    assert.deepEqual(
      cluster.events.map(({ message }) => message),
      ["Cancelling deletion"],
    );
  });

  test("a pod without a node, or without a reservation of the claim, is not evicted", async () => {
    await using cluster = await start();
    await user(cluster, "waiting", "d1", [], { nodeName: "" });
    await user(cluster, "guest", "d1", [], { reserved: false });
    await slice(cluster, "newer", 3, true);
    assert.deepEqual(cluster.names(podKind), ["guest", "waiting"]);
  });
});

async function start(): Promise<Cluster> {
  const cluster = await startCluster({
    at: timeFromMs(NOW_MS),
    controllers: [deviceTaintEviction],
  });
  await slice(cluster, "new", 2, false);
  return cluster;
}

async function slice(
  cluster: Cluster,
  name: string,
  generation: number,
  tainted: boolean,
): Promise<void> {
  await cluster.seed(resourceSliceKind, {
    metadata: { name },
    spec: {
      ...{ driver: "d.example", nodeName: "n" },
      pool: { name: "p", generation, resourceSliceCount: 1 },
      devices: [{ name: "d1", ...(tainted ? { taints: [taint("k")] } : {}) }, { name: "d2" }],
    },
  });
}

async function user(
  cluster: Cluster,
  name: string,
  device: string,
  tolerations: readonly DeviceToleration[] = [],
  { nodeName = "n", reserved = true } = {},
): Promise<void> {
  const pod = await cluster.seed(podKind, {
    metadata: { name },
    spec: {
      ...(nodeName === "" ? {} : { nodeName }),
      containers: [{ name: "c", image: "i" }],
      resourceClaims: [{ name: "a", resourceClaimName: name }],
      terminationGracePeriodSeconds: 0,
    },
    status: { phase: "Running" },
  });
  const uid = pod.metadata.uid ?? "";
  await cluster.seed(resourceClaimKind, {
    metadata: { name },
    spec: {},
    status: {
      allocation: {
        devices: {
          results: [{ request: "r", driver: "d.example", pool: "p", device, tolerations }],
        },
      },
      ...(reserved ? { reservedFor: [{ resource: "pods", name, uid }] } : {}),
    },
  });
}
