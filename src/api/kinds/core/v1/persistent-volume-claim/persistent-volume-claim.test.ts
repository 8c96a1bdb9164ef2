import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { persistentVolumeClaimKind } from "./persistent-volume-claim.ts";

const storage = (amount: string) => ({ resources: { requests: { storage: amount } } });
const base = { accessModes: ["ReadWriteOnce"], ...storage("2Gi") };
const claim = (spec: object) => ({ object: { spec: { ...base, ...spec } } });
const bound = { phase: "Bound", capacity: { storage: "2Gi" } };
const snapshot = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" };

describe("claims", () => {
  test("dataSource is copied to dataSourceRef", () => {
    const { object } = runKind(persistentVolumeClaimKind, claim({ dataSource: snapshot }));
    assert.deepEqual((object as PersistentVolumeClaim).spec.dataSourceRef, snapshot);
  });

  test("a data source that old clients did not know is dropped", () => {
    const dataSource = { apiGroup: "a.example", kind: "K", name: "n" };
    const { object } = runKind(persistentVolumeClaimKind, claim({ dataSource }));
    assert.equal((object as PersistentVolumeClaim).spec.dataSource, undefined);
  });

  test("a data source of another namespace is dropped", () => {
    const dataSourceRef = { ...snapshot, namespace: "other" };
    const { object } = runKind(persistentVolumeClaimKind, claim({ dataSourceRef }));
    assert.equal((object as PersistentVolumeClaim).spec.dataSourceRef, undefined);
  });

  const rows = [
    {
      name: "an empty spec",
      write: { object: { spec: {} } },
      faults: [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
      ],
    },
    {
      name: "two data sources",
      write: claim({ dataSource: snapshot, dataSourceRef: { ...snapshot, name: "t" } }),
      faults: ["spec: Invalid value: {}: must match dataSourceRef"],
    },
    {
      name: "one pod and many",
      write: claim({ accessModes: ["ReadWriteOncePod", "ReadWriteOnce"] }),
      faults: ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
    },
    {
      name: "nothing when a bound claim grows",
      write: {
        object: { spec: { ...base, ...storage("3Gi"), volumeName: "v" } },
        old: { spec: { ...base, volumeName: "v" }, status: bound },
      },
      faults: [],
    },
    {
      name: "less than there is",
      write: {
        object: { spec: { ...base, ...storage("1Gi") } },
        old: { spec: base, status: bound },
      },
      faults: [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
      ],
    },
    {
      name: "nothing when the amount is only written differently",
      write: {
        object: { spec: { ...base, ...storage("2147483648") } },
        old: { spec: base },
      },
      faults: [],
    },
    {
      name: "nothing when a volume and a class are found",
      write: { ...claim({ volumeName: "v", storageClassName: "s" }), old: { spec: base } },
      faults: [],
    },
    {
      name: "another class by annotation",
      write: {
        object: {
          metadata: { annotations: { "volume.beta.kubernetes.io/storage-class": "b" } },
          spec: base,
        },
        old: { spec: base },
      },
      faults: [
        'metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "b": field is immutable',
      ],
    },
    {
      name: "to give up attributes that were applied",
      write: {
        object: { spec: base },
        old: {
          spec: { ...base, volumeAttributesClassName: "a" },
          status: { ...bound, currentVolumeAttributesClassName: "a" },
        },
      },
      faults: [
        "spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when status.currentVolumeAttributesClassName is not nil",
      ],
    },
    {
      name: "a status of resources that claims do not have",
      write: {
        object: {
          spec: base,
          status: {
            capacity: { storage: "-1" },
            allocatedResourceStatuses: { storage: "Odd" },
            allocatedResources: { cpu: "1" },
          },
        },
        old: { spec: base },
        subresource: "status",
      },
      faults: [
        "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
        'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(persistentVolumeClaimKind, write).faults, faults);
    });
  }

  test("what else changes is forbidden and shown", () => {
    const { faults } = runKind(persistentVolumeClaimKind, {
      ...claim({ accessModes: ["ReadWriteMany"] }),
      old: { spec: base },
    });
    assert.equal(faults.length, 1);
    assert.match(faults[0]!, /^spec: Forbidden: spec is immutable after creation except.*\n@@/);
  });

  test("half a byte is warned about", () => {
    const { warnings } = runKind(persistentVolumeClaimKind, claim(storage("1500m")));
    assert.deepEqual(warnings, [
      'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    ]);
  });
});
