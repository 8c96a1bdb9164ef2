/** The kinds of storage.k8s.io. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CSIDriver, StorageClass, VolumeAttachment } from "#api/generated/storage.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { csiDriverKind } from "./csi-driver.ts";
import { csiNodeKind } from "./csi-node.ts";
import { csiStorageCapacityKind } from "./csi-storage-capacity.ts";
import { storageClassKind } from "./storage-class.ts";
import { volumeAttachmentKind } from "./volume-attachment.ts";
import {
  volumeAttributesClassKind,
  volumeAttributesClassV1Beta1Kind,
} from "./volume-attributes-class.ts";

describe("storage classes", () => {
  const made = { provisioner: "a/b" };

  test("reclaimPolicy is Delete and volumeBindingMode Immediate", () => {
    const { reclaimPolicy, volumeBindingMode } = runKind(storageClassKind, { object: made })
      .object as StorageClass;
    assert.deepEqual([reclaimPolicy, volumeBindingMode], ["Delete", "Immediate"]);
  });

  const topology = (...terms: readonly object[]) => ({
    object: {
      ...made,
      allowedTopologies: terms.map((term) => ({ matchLabelExpressions: [term] })),
    },
  });
  const rows = [
    {
      name: "no provisioner",
      write: { object: { provisioner: "" } },
      faults: ["provisioner: Required value"],
    },
    {
      name: "unknown reclaimPolicy and volumeBindingMode",
      write: { object: { ...made, reclaimPolicy: "Recycle", volumeBindingMode: "Later" } },
      faults: [
        'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
        'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
      ],
    },
    {
      name: "a topology twice, whatever the order of its values",
      write: topology({ key: "a", values: ["b", "c"] }, { key: "a", values: ["c", "b"] }),
      faults: ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
    },
    {
      name: "a topology of nothing",
      write: { object: { ...made, allowedTopologies: [{}] } },
      faults: ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""'],
    },
    {
      name: "a topology without values",
      write: topology({ key: "a", values: [] }),
      faults: ["allowedTopologies[0].matchLabelExpressions[0].values: Required value"],
    },
    {
      name: "an empty parameter",
      write: { object: { ...made, parameters: { "": "x" } } },
      faults: ['parameters: Invalid value: "": field can not be empty.'],
    },
    {
      name: "other parameters",
      write: { object: { ...made, parameters: { a: "b" } }, old: made },
      faults: ['parameters: Invalid value: {"a":"b"}: field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(storageClassKind, write).faults, faults));
  }

  test("the default is marked, old labels are warned about", () => {
    const { object, warnings } = runKind(storageClassKind, {
      object: {
        ...topology({ key: "beta.kubernetes.io/os", values: ["linux"] }).object,
        metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      },
    });
    assert.equal(storageClassKind.columns[0]!.cell(object, 0), "x (default)");
    assert.deepEqual(warnings, [
      'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]);
  });
});

describe("volume attributes classes", () => {
  test("need parameters and never change", () => {
    const old = { driverName: "d", parameters: { a: "b" } };
    assert.deepEqual(
      runKind(volumeAttributesClassKind, { object: { driverName: "e" }, old }).faults,
      [
        "driverName: Forbidden: updates to driverName are forbidden.",
        "parameters: Forbidden: updates to parameters are forbidden.",
        "parameters: Required value: must contain at least one key/value pair",
      ],
    );
  });

  test("the beta version is stored as the stable one", () => {
    const { object } = runKind(volumeAttributesClassV1Beta1Kind, { object: { driverName: "d" } });
    const { toStored, fromStored } = volumeAttributesClassV1Beta1Kind.storedAs!;
    assert.equal(toStored(object).apiVersion, "storage.k8s.io/v1");
    assert.deepEqual(fromStored(toStored(object)), object);
  });
});

describe("volume attachments", () => {
  const spec = { attacher: "d.example", source: { persistentVolumeName: "v" }, nodeName: "n" };

  test("a new one is not attached", () => {
    const { object } = runKind(volumeAttachmentKind, {
      object: { spec, status: { attached: true } },
    });
    assert.deepEqual((object as VolumeAttachment).status, { attached: false });
  });

  const inline = {
    accessModes: ["ReadWriteOnce"],
    csi: { driver: "d.example", volumeHandle: "h" },
  };
  const rows = [
    {
      name: "two sources",
      write: {
        object: {
          spec: { ...spec, source: { ...spec.source, inlineVolumeSpec: inline } },
        },
      },
      faults: [
        "spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
      ],
    },
    {
      name: "an inline volume that claims a capacity and is no driver's",
      write: {
        object: {
          spec: {
            ...spec,
            source: {
              inlineVolumeSpec: {
                accessModes: ["ReadWriteOnce"],
                capacity: { storage: "1Gi" },
                hostPath: { path: "/x" },
                volumeMode: "Block",
              },
            },
          },
        },
      },
      faults: [
        "spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes",
        "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes",
        "spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes",
      ],
    },
    {
      name: "another node",
      write: { object: { spec: { ...spec, nodeName: "m" } }, old: { spec } },
      faults: [
        'spec: Invalid value: {"Attacher":"d.example","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},"NodeName":"m"}: field is immutable',
      ],
    },
    {
      name: "an error that is too long, or negative",
      write: {
        object: {
          spec,
          status: { attached: false, attachError: { message: "x".repeat(1025), errorCode: -1 } },
        },
        old: { spec },
        subresource: "status",
      },
      faults: [
        "status.attachError.message: Too long: may not be more than 262144 bytes",
        "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(volumeAttachmentKind, write).faults, faults);
    });
  }

  test("a status write leaves labels alone", () => {
    const { object } = runKind(volumeAttachmentKind, {
      object: { metadata: { labels: { a: "b" } }, spec, status: { attached: true } },
      old: { spec },
      subresource: "status",
    });
    assert.equal(object.metadata.labels, undefined);
    assert.equal((object as VolumeAttachment).status.attached, true);
  });
});

describe("CSI nodes", () => {
  const node = (driver: object) => ({ spec: { drivers: [{ name: "d", nodeID: "n", ...driver }] } });
  const rows = [
    {
      name: "a driver without a node id",
      write: { object: node({ nodeID: "" }) },
      faults: ["spec.drivers[0].nodeID: Required value"],
    },
    {
      name: "a topology key twice",
      write: { object: node({ topologyKeys: ["a", "a"] }) },
      faults: ['spec.drivers[0]: Duplicate value: "a"'],
    },
    {
      name: "another node id",
      write: { object: node({ nodeID: "m", allocatable: { count: 1 } }), old: node({}) },
      faults: [
        'spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable',
      ],
    },
    {
      name: "nothing when only the count changes",
      write: { object: node({ allocatable: { count: 1 } }), old: node({}) },
      faults: [],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(csiNodeKind, write).faults, faults));
  }
});

describe("CSI drivers", () => {
  test("defaults; the generation counts changes of the spec", () => {
    const { object } = runKind(csiDriverKind, {
      object: { spec: { podInfoOnMount: true, preventPodSchedulingIfMissing: true } },
      old: {},
    });
    const { spec, metadata } = object as CSIDriver;
    assert.equal(metadata.generation, 1);
    assert.deepEqual(spec, {
      attachRequired: true,
      podInfoOnMount: true,
      volumeLifecycleModes: ["Persistent"],
      storageCapacity: false,
      fsGroupPolicy: "ReadWriteOnceWithFSType",
      requiresRepublish: false,
      seLinuxMount: false,
    });
  });

  const rows = [
    {
      name: "tokens for the same audience, or that expire at once",
      spec: {
        serviceAccountTokenInSecrets: true,
        tokenRequests: [{ audience: "a", expirationSeconds: 1 }, { audience: "a" }],
      },
      faults: [
        "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
      ],
    },
    {
      name: "a secret for no token",
      spec: { serviceAccountTokenInSecrets: true, nodeAllocatableUpdatePeriodSeconds: 9 },
      faults: [
        "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds",
        "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified",
      ],
    },
    {
      name: "unknown volumeLifecycleModes and fsGroupPolicy",
      spec: { volumeLifecycleModes: ["Short"], fsGroupPolicy: "Some" },
      faults: [
        'spec.fsGroupPolicy: Unsupported value: "Some": supported values: "File", "None", "ReadWriteOnceWithFSType"',
        'spec.volumeLifecycleModes: Unsupported value: "Short": supported values: "Persistent", "Ephemeral"',
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(csiDriverKind, { object: { spec } }).faults, faults);
    });
  }

  test("tokens outside of secrets are warned about when they are new", () => {
    const object = { spec: { tokenRequests: [{ audience: "a" }] } };
    assert.equal(runKind(csiDriverKind, { object }).warnings.length, 1);
    assert.equal(runKind(csiDriverKind, { object, old: object }).warnings.length, 0);
  });
});

describe("CSI storage capacities", () => {
  const rows = [
    {
      name: "less than nothing",
      write: { object: { storageClassName: "s", capacity: "-1" } },
      faults: ['capacity: Invalid value: "-1": must be greater than or equal to 0'],
    },
    {
      name: "another class and place",
      write: {
        object: { storageClassName: "s", nodeTopology: { matchLabels: { a: "b" } } },
        old: { storageClassName: "t" },
      },
      faults: [
        'nodeTopology: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable',
        'storageClassName: Invalid value: "s": field is immutable',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(csiStorageCapacityKind, write).faults, faults);
    });
  }
});
