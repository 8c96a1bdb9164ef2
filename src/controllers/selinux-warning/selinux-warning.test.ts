import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PodSpec, SELinuxOptions } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { csiDriverKind } from "#api/kinds/storage/v1/csi-driver.ts";
import { type Cluster, type Draft, startCluster } from "#testing/cluster.ts";
import { selinuxWarning } from "./selinux-warning.ts";

const claimSpec = {
  accessModes: ["ReadWriteMany"],
  resources: { requests: { storage: "1Gi" } },
  volumeName: "v",
};

async function world(seLinuxMount = true): Promise<Cluster> {
  const cluster = await startCluster({ controllers: [selinuxWarning] });
  await cluster.seed(csiDriverKind, { metadata: { name: "d" }, spec: { seLinuxMount } });
  await cluster.seed(persistentVolumeClaimKind, {
    metadata: { name: "c", uid: "claim" },
    spec: claimSpec,
    status: { phase: "Bound" },
  });
  const { uid = "" } = cluster.get(persistentVolumeClaimKind, "c")?.metadata ?? {};
  await cluster.seed(persistentVolumeKind, {
    metadata: { name: "v" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteMany"],
      csi: { driver: "d", volumeHandle: "h" },
      claimRef: { namespace: "default", name: "c", uid },
    },
    status: { phase: "Bound" },
  });
  return cluster;
}

async function pod(
  cluster: Cluster,
  name: string,
  seLinuxOptions: Draft<SELinuxOptions> | undefined,
  more: Draft<PodSpec["securityContext"]> = {},
): Promise<void> {
  await cluster.seed(podKind, {
    metadata: { name },
    spec: {
      securityContext: { ...(seLinuxOptions === undefined ? {} : { seLinuxOptions }), ...more },
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "c" } }],
      containers: [{ name: "m", volumeMounts: [{ name: "data", mountPath: "/d" }] }],
    },
  });
}

const eventsOf = ({ events }: Cluster): readonly string[] =>
  events.map(({ name, reason }) => `${name} ${reason}`);

describe("SELinux labels of pods that use the same volume", () => {
  const level = (text: string) => ({ level: text });
  const rows: {
    name: string;
    first: Draft<SELinuxOptions> | undefined;
    second: Draft<SELinuxOptions> | undefined;
    policy?: string;
    want: readonly string[];
  }[] = [
    {
      name: "equal labels are no conflict",
      first: level("s0:c1"),
      second: level("s0:c1"),
      want: [],
    },
    {
      name: "different levels are a SELinuxLabelConflict",
      first: level("s0:c1"),
      second: level("s0:c2"),
      want: ["b SELinuxLabelConflict", "a SELinuxLabelConflict"],
    },
    {
      name: "a type that the other leaves to the node",
      first: { type: "t", level: "s0" },
      second: level("s0"),
      want: [],
    },
    {
      name: "different types are a SELinuxLabelConflict",
      first: { type: "t", level: "s0" },
      second: { type: "u", level: "s0" },
      want: ["b SELinuxLabelConflict", "a SELinuxLabelConflict"],
    },
    {
      name: "seLinuxChangePolicy Recursive beside another is a SELinuxChangePolicyConflict",
      first: level("s0:c1"),
      second: level("s0:c1"),
      policy: "Recursive",
      want: [
        "b SELinuxChangePolicyConflict",
        "a SELinuxChangePolicyConflict",
        "b SELinuxLabelConflict",
        "a SELinuxLabelConflict",
      ],
    },
    { name: "no labels at all", first: undefined, second: undefined, want: [] },
  ];
  for (const { name, first, second, policy, want } of rows) {
    test(name, async () => {
      await using cluster = await world();
      await pod(cluster, "a", first);
      await pod(cluster, "b", second, policy === undefined ? {} : { seLinuxChangePolicy: policy });
      assert.deepEqual(eventsOf(cluster), want);
    });
  }
});

test("SELinuxLabelConflict is recorded on both pods, and the metric exists while both exist", async () => {
  await using cluster = await world();
  await pod(cluster, "a", { level: "s0:c1" });
  await pod(cluster, "b", { level: "s0:c2" });
  assert.equal(
    cluster.events[0]?.message,
    'SELinuxLabel ":::s0:c2" conflicts with pod a that uses the same volume as this pod with ' +
      'SELinuxLabel ":::s0:c1". If both pods land on the same node, only one of them may access the volume.',
  );
  const conflicts = (): string[] =>
    cluster.metrics.text().match(/^selinux_warning_controller.*$/gm) ?? [];
  const name = "selinux_warning_controller_selinux_volume_conflict";
  const side = (i: number, pod_: string, value: string): string =>
    `pod${i}_namespace="default",pod${i}_name="${pod_}",pod${i}_value=":::${value}"`;
  assert.deepEqual(conflicts(), [
    `${name}{property="SELinuxLabel",${side(1, "a", "s0:c1")},${side(2, "b", "s0:c2")}} 1`,
    `${name}{property="SELinuxLabel",${side(1, "b", "s0:c2")},${side(2, "a", "s0:c1")}} 1`,
  ]);
  await cluster.edit(podKind, "a", (draft) => void (draft.status.phase = "Succeeded"));
  assert.deepEqual(conflicts(), []);
  assert.equal(eventsOf(cluster).length, 2);
});

test("a driver that cannot mount with labels is no matter, until it can", async () => {
  await using cluster = await world(false);
  await pod(cluster, "a", { level: "s0:c1" });
  await pod(cluster, "b", { level: "s0:c2" });
  assert.deepEqual(eventsOf(cluster), []);
  await cluster.edit(csiDriverKind, "d", (draft) => void (draft.spec.seLinuxMount = true));
  assert.deepEqual(eventsOf(cluster), ["b SELinuxLabelConflict", "a SELinuxLabelConflict"]);
});

test("a pod whose containers do not agree", async () => {
  await using cluster = await world();
  const mount = { volumeMounts: [{ name: "data", mountPath: "/d" }] };
  const at = (level: string) => ({ securityContext: { seLinuxOptions: { level } } });
  await cluster.seed(podKind, {
    metadata: { name: "a" },
    spec: {
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "c" } }],
      containers: [
        { name: "m", ...mount, ...at("s0:c1") },
        { name: "n", ...mount, ...at("s0:c2") },
      ],
    },
  });
  assert.deepEqual(eventsOf(cluster), ["a MultipleSELinuxLabels"]);
});
