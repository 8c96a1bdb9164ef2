/** VolumeRestrictions and VolumeZone, row by row. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { FITTING, type PluginRow, verdictsOf } from "#scheduler/plugins/plugin-rows.testing.ts";
import { build, type Draft } from "#testing/build.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { volumeZone } from "./volume-zone.ts";

const ZONE = "topology.kubernetes.io/zone";
const OLD_ZONE = "failure-domain.beta.kubernetes.io/zone";
const CONFLICT = "node(s) had no available disk";
const OTHER_ZONE = "node(s) had no available volume zone";

type Source = Omit<Draft<NonNullable<Pod["spec"]["volumes"]>[number]>, "name">;

const node = (name: string, labels: Record<string, string> = {}): Draft<Node> => ({
  metadata: { name, labels },
});
const using = (name: string, source: Source, nodeName?: string): Draft<Pod> => ({
  metadata: { name },
  spec: {
    ...(nodeName === undefined ? {} : { nodeName }),
    volumes: [{ name: "data", ...source }],
  },
});
const gce = (pdName: string, readOnly = false): Source => ({
  gcePersistentDisk: { pdName, readOnly },
});
const ebs = (volumeID: string): Source => ({ awsElasticBlockStore: { volumeID, readOnly: true } });
const iscsi = (iqn: string, readOnly = false): Source => ({
  iscsi: { targetPortal: "t", iqn, lun: 0, readOnly },
});
const rbd = (image: string, monitors: readonly string[]): Source => ({
  rbd: { image, monitors, pool: "p" },
});
const claimed: Source = { persistentVolumeClaim: { claimName: "c" } };
const claim = (accessMode: "ReadWriteOnce" | "ReadWriteOncePod") =>
  build(persistentVolumeClaimKind, {
    metadata: { name: "c" },
    spec: { volumeName: "v", accessModes: [accessMode] },
  });
const volume = (labels: Record<string, string>) =>
  build(persistentVolumeKind, { metadata: { name: "v", labels }, spec: {} });

interface Conflict {
  readonly name: string;
  readonly own: Source;
  readonly other: Source;
  readonly want: string;
}

describe("VolumeRestrictions", () => {
  const rows: readonly Conflict[] = [
    { name: "a GCE disk of another pod", own: gce("d"), other: gce("d"), want: CONFLICT },
    {
      ...{ name: "a GCE disk that both only read", own: gce("d", true), other: gce("d", true) },
      want: FITTING,
    },
    { name: "another GCE disk", own: gce("d"), other: gce("e"), want: FITTING },
    {
      name: "an EBS volume, also if it is read only",
      own: ebs("v"),
      other: ebs("v"),
      want: CONFLICT,
    },
    { name: "an iSCSI target", own: iscsi("i"), other: iscsi("i", true), want: CONFLICT },
    {
      ...{ name: "an RBD image with a common monitor", own: rbd("i", ["a", "b"]) },
      ...{ other: rbd("i", ["b", "c"]), want: CONFLICT },
    },
    {
      ...{ name: "an RBD image of another cluster", own: rbd("i", ["a"]) },
      ...{ other: rbd("i", ["c"]), want: FITTING },
    },
  ];
  for (const { name, own, other, want } of rows) {
    test(name, () => {
      const row: PluginRow = {
        ...{ plugin: volumeRestrictions, nodes: [node("a"), node("b")] },
        running: [using("r", other, "a")],
        pod: using("p", own),
      };
      assert.deepEqual(verdictsOf(row), { a: want, b: FITTING });
    });
  }

  const IN_USE =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";
  for (const [mode, want] of [
    ["ReadWriteOncePod", IN_USE],
    ["ReadWriteOnce", FITTING],
  ] as const) {
    test(`a claim with ${mode} that another pod uses`, () => {
      const row: PluginRow = {
        ...{ plugin: volumeRestrictions, nodes: [node("a"), node("b")], claims: [claim(mode)] },
        running: [using("r", claimed, "a")],
        pod: using("p", claimed),
      };
      assert.deepEqual(verdictsOf(row), { a: want, b: want });
    });
  }
});

describe("VolumeZone", () => {
  const rows = [
    {
      name: "zones of the volume's label",
      labels: { [ZONE]: "z1__z2" },
      nodes: [node("a", { [ZONE]: "z2" }), node("b", { [ZONE]: "z3" }), node("c")],
      want: { a: FITTING, b: OTHER_ZONE, c: FITTING },
    },
    {
      name: "an old label of the volume, a new one of the node",
      labels: { [OLD_ZONE]: "z1" },
      nodes: [node("a", { [ZONE]: "z1" }), node("b", { [OLD_ZONE]: "z1" })],
      want: { a: FITTING, b: FITTING },
    },
    {
      name: "a new label of the volume, an old one of the node",
      labels: { [ZONE]: "z1" },
      nodes: [node("a", { [OLD_ZONE]: "z1" })],
      want: { a: OTHER_ZONE },
    },
    {
      name: "a label with an empty zone does not count",
      labels: { [ZONE]: "z1__" },
      nodes: [node("a", { [ZONE]: "z9" })],
      want: { a: FITTING },
    },
  ];
  for (const { name, labels, nodes, want } of rows) {
    test(name, () => {
      const row: PluginRow = {
        ...{ plugin: volumeZone, nodes, claims: [claim("ReadWriteOnce")] },
        ...{ volumes: [volume(labels)], pod: using("p", claimed) },
      };
      assert.deepEqual(verdictsOf(row), want);
    });
  }
});
