import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolume } from "#api/generated/core.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { persistentVolumeKind } from "./persistent-volume.ts";

const base = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
const csi = { driver: "d.example", volumeHandle: "h" };
const volume = (spec: object) => ({ object: { spec: { ...base, ...spec } } });
const NOW = Date.parse("2030-01-01T00:00:00Z");

describe("persistent volumes", () => {
  test("defaults of the volume and its source", () => {
    const { object } = runKind(persistentVolumeKind, {
      ...volume({ rbd: { monitors: ["m"], image: "i" } }),
      nowMs: NOW,
    });
    const { spec, status } = object as PersistentVolume;
    assert.deepEqual(status, { phase: "Pending", lastPhaseTransitionTime: "2030-01-01T00:00:00Z" });
    assert.deepEqual(spec, {
      ...base,
      rbd: {
        monitors: ["m"],
        image: "i",
        pool: "rbd",
        user: "admin",
        keyring: "/etc/ceph/keyring",
      },
      persistentVolumeReclaimPolicy: "Retain",
      volumeMode: "Filesystem",
    });
  });

  test("a phase is stamped when it changes", () => {
    const old = { spec: { ...base, csi }, status: { phase: "Available" } };
    const { object } = runKind(persistentVolumeKind, {
      object: { ...old, status: { phase: "Bound" } },
      old,
      subresource: "status",
      nowMs: NOW,
    });
    assert.equal(
      (object as PersistentVolume).status.lastPhaseTransitionTime,
      "2030-01-01T00:00:00Z",
    );
  });

  const rows = [
    {
      name: "an empty spec",
      write: { object: { spec: {} } },
      faults: [
        "spec.accessModes: Required value",
        "spec.capacity: Required value",
        'spec.capacity: Unsupported value: null: supported values: "storage"',
        "spec: Required value: must specify a volume type",
      ],
    },
    {
      name: "two sources",
      write: volume({ csi, nfs: { server: "s", path: "/" } }),
      faults: ["spec.csi: Forbidden: may not specify more than 1 volume type"],
    },
    {
      name: "a local volume that is everywhere",
      write: volume({ local: { path: "/a/../b" } }),
      faults: [
        "spec.local.path: Invalid value: \"/a/../b\": must not contain '..'",
        "spec.nodeAffinity: Required value: Local volume requires node affinity",
      ],
    },
    {
      name: "secrets without a namespace",
      write: volume({ csi: { ...csi, nodePublishSecretRef: { name: "s" } } }),
      faults: ["spec.csi.nodePublishSecretRef.namespace: Required value"],
    },
    {
      name: "an iscsi target that is too long for its initiator",
      write: volume({
        iscsi: {
          targetPortal: "p".repeat(64),
          iqn: "iqn.2001-04.com.example:a",
          lun: 0,
          initiatorName: "x",
        },
      }),
      faults: [
        `spec.iscsi.targetportal: Invalid value: "${"p".repeat(64)}": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.`,
        'spec.iscsi.initiatorname: Invalid value: "x": must be valid format',
      ],
    },
    {
      name: "recycling of a whole node",
      write: volume({ hostPath: { path: "/./" }, persistentVolumeReclaimPolicy: "Recycle" }),
      faults: [
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ],
    },
    {
      name: "attributes of a volume that is no driver's",
      write: volume({ nfs: { server: "s", path: "/" }, volumeAttributesClassName: "" }),
      faults: [
        "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
        "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
      ],
    },
    {
      name: "mount options that the source does not take",
      write: {
        object: {
          metadata: { annotations: { "volume.beta.kubernetes.io/mount-options": "ro" } },
          spec: { ...base, csi },
        },
      },
      faults: [
        "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type",
      ],
    },
    {
      name: "no change but a secret for expansion that was missing",
      write: {
        ...volume({ csi: { ...csi, controllerExpandSecretRef: { name: "s", namespace: "n" } } }),
        old: { spec: { ...base, csi } },
      },
      faults: [],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(persistentVolumeKind, write).faults, faults);
    });
  }

  test("the source never changes", () => {
    const { faults } = runKind(persistentVolumeKind, {
      ...volume({ csi: { ...csi, volumeHandle: "i" } }),
      old: { spec: { ...base, csi } },
    });
    assert.equal(faults.length, 1);
    assert.match(
      faults[0]!,
      /^spec\.persistentvolumesource: Forbidden: spec\.persistentvolumesource is immutable after creation\n@@/,
    );
  });

  const affinity = (key: string) => ({
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: ["a"] }] }],
      },
    },
  });
  const beta = "failure-domain.beta.kubernetes.io/zone";

  test("an affinity may move to the stable name of its label, and nowhere else", () => {
    const change = (key: string) =>
      runKind(persistentVolumeKind, {
        ...volume({ csi, ...affinity(key) }),
        old: { spec: { ...base, csi, ...affinity(beta) } },
      }).faults;
    assert.deepEqual(change("topology.kubernetes.io/zone"), []);
    assert.equal(change("zone").length, 1);
    assert.match(
      change("zone")[0]!,
      /^nodeAffinity: Invalid value: \{"Required":.*beta label to GA$/,
    );
  });

  test("warnings and cells", () => {
    const { object, warnings } = runKind(
      persistentVolumeKind,
      volume({
        glusterfs: { endpoints: "e", path: "p" },
        persistentVolumeReclaimPolicy: "Recycle",
        claimRef: { namespace: "n", name: "c" },
        accessModes: ["ReadWriteMany", "ReadWriteOnce"],
      }),
    );
    assert.deepEqual(warnings, [
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
      "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
    ]);
    assert.deepEqual(
      persistentVolumeKind.columns.map((column) => column.cell(object, 0)),
      [
        "x",
        "1Gi",
        "RWO,RWX",
        "Recycle",
        "Pending",
        "n/c",
        "",
        "<unset>",
        "",
        "<unknown>",
        "Filesystem",
      ],
    );
  });
});
