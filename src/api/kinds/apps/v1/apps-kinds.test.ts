import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Kind, KindOf, KubeObject } from "#api/kind.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { controllerRevisionKind } from "./controller-revision.ts";
import { daemonSetKind } from "./daemon-set.ts";
import { deploymentKind } from "./deployment.ts";
import { replicaSetKind } from "./replica-set.ts";
import { statefulSetKind } from "./stateful-set.ts";

type Fields = Record<string, unknown>;
interface Workload extends KubeObject {
  readonly spec: { readonly minReadySeconds?: number };
}

const TEMPLATE = {
  metadata: { labels: { app: "x" } },
  spec: { containers: [{ name: "c", image: "i:1" }] },
};
const BASE = { selector: { matchLabels: { app: "x" } }, template: TEMPLATE };

const spec = (fields: Fields = {}) => ({ spec: { ...BASE, ...fields } });
const specOf = <T extends Workload>(kind: KindOf<T>, fields: Fields = {}): T["spec"] =>
  runKind<T>(kind, { object: spec(fields) }).object.spec;

describe("defaults of the apps group", () => {
  test("Deployment: replicas, strategy, progressDeadlineSeconds and revisionHistoryLimit have defaults", () => {
    const { template: _template, selector: _selector, ...rest } = specOf(deploymentKind);
    assert.deepEqual(rest, {
      replicas: 1,
      strategy: {
        type: "RollingUpdate",
        rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" },
      },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    });
  });

  test("DaemonSet counts its template", () => {
    const { object } = runKind(daemonSetKind, { object: spec() });
    const { updateStrategy } = object.spec;
    assert.deepEqual(updateStrategy, {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
    });
    assert.deepEqual(object.metadata.annotations, {
      "deprecated.daemonset.template.generation": "1",
    });
  });

  test("DaemonSet fills in numbers that its strategy does not use", () => {
    const { updateStrategy } = specOf(daemonSetKind, {
      updateStrategy: { type: "OnDelete", rollingUpdate: { maxSurge: 1 } },
    });
    assert.deepEqual(updateStrategy, {
      type: "OnDelete",
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
  });

  test("managedFields of a pod template are dropped", () => {
    const metadata = { ...TEMPLATE.metadata, managedFields: [] };
    const { template } = specOf(deploymentKind, { template: { ...TEMPLATE, metadata } });
    assert.deepEqual(template.metadata, TEMPLATE.metadata);
  });

  test("StatefulSet", () => {
    const claim = {
      metadata: { name: "d" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    const set = specOf(statefulSetKind, { volumeClaimTemplates: [claim] });
    assert.deepEqual(set.updateStrategy, {
      type: "RollingUpdate",
      rollingUpdate: { partition: 0 },
    });
    assert.deepEqual(set.persistentVolumeClaimRetentionPolicy, {
      whenDeleted: "Retain",
      whenScaled: "Retain",
    });
    assert.deepEqual(set.volumeClaimTemplates, [
      {
        kind: "PersistentVolumeClaim",
        apiVersion: "v1",
        metadata: { name: "d" },
        spec: { ...claim.spec, volumeMode: "Filesystem" },
        status: { phase: "Pending" },
      },
    ]);
  });

  test("a RollingUpdate strategy of a StatefulSet without rollingUpdate stays as it is", () => {
    const { updateStrategy } = specOf(statefulSetKind, {
      updateStrategy: { type: "RollingUpdate" },
    });
    assert.deepEqual(updateStrategy, { type: "RollingUpdate" });
  });

  test("a feature of StatefulSets that is off", () => {
    const rollingUpdate = { partition: 1, maxUnavailable: 2 };
    const { updateStrategy } = specOf(statefulSetKind, { updateStrategy: { rollingUpdate } });
    assert.deepEqual(updateStrategy, { type: "RollingUpdate", rollingUpdate: { partition: 1 } });
  });

  test("ReplicationController takes selector and labels from its template", () => {
    const { object } = runKind(replicationControllerKind, {
      object: { spec: { template: TEMPLATE } },
    });
    assert.deepEqual(object.spec.selector, { app: "x" });
    assert.deepEqual(object.metadata.labels, { app: "x" });
  });
});

const rules: readonly { name: string; kind: Kind; fields: Fields; want: readonly string[] }[] = [
  {
    name: "a template with no labels, given so",
    kind: replicaSetKind,
    fields: { template: { ...TEMPLATE, metadata: { labels: {} } } },
    want: [
      "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`",
    ],
  },
  {
    name: "a template without labels",
    kind: replicaSetKind,
    fields: { template: { ...TEMPLATE, metadata: {} } },
    want: [
      "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
    ],
  },
  {
    name: "a selector that cannot be read",
    kind: replicaSetKind,
    fields: { selector: { matchExpressions: [{ key: "a", operator: "Like" }] } },
    want: [
      'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
      'spec.selector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Like"}]}: invalid label selector',
    ],
  },
  {
    name: "a strategy that there is not",
    kind: deploymentKind,
    fields: { strategy: { type: "Later" } },
    want: [
      'spec.strategy: Unsupported value: {"Type":"Later","RollingUpdate":null}: supported values: "Recreate", "RollingUpdate"',
    ],
  },
  {
    name: "shares of more than all",
    kind: deploymentKind,
    fields: { strategy: { rollingUpdate: { maxUnavailable: "101%", maxSurge: "x" } } },
    want: [
      "spec.strategy.rollingUpdate.maxSurge: Invalid value: \"x\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
    ],
  },
  {
    name: "a deadline before readiness",
    kind: deploymentKind,
    fields: { minReadySeconds: 600 },
    want: [
      "spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds",
    ],
  },
  {
    name: "surge and unavailability at once",
    kind: daemonSetKind,
    fields: { updateStrategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } } },
    want: [
      "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
    ],
  },
  {
    name: "neither of them",
    kind: daemonSetKind,
    fields: { updateStrategy: { rollingUpdate: { maxUnavailable: "0%" } } },
    want: [
      "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
    ],
  },
  {
    name: "a daemon that selects everything",
    kind: daemonSetKind,
    fields: { selector: {} },
    want: ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
  },
  {
    name: "a set in no order",
    kind: statefulSetKind,
    fields: {
      podManagementPolicy: "Chaos",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: -1 } },
    },
    want: [
      "spec.podManagementPolicy: Invalid value: \"Chaos\": must be 'OrderedReady' or 'Parallel'",
      "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
    ],
  },
  {
    name: "names of hosts are the controller's business",
    kind: statefulSetKind,
    fields: {
      template: { ...TEMPLATE, spec: { ...TEMPLATE.spec, hostname: "BAD", subdomain: "BAD" } },
    },
    want: [],
  },
  {
    name: "claims are volumes",
    kind: statefulSetKind,
    fields: {
      volumeClaimTemplates: [
        {
          metadata: { name: "d" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
      template: {
        ...TEMPLATE,
        spec: {
          containers: [{ name: "c", image: "i:1", volumeMounts: [{ name: "d", mountPath: "/d" }] }],
        },
      },
    },
    want: [],
  },
];

describe("apps-kinds: rules", () => {
  for (const { name, kind, fields, want } of rules) {
    test(`${kind.names.kind}: ${name}`, () => {
      assert.deepEqual(runKind(kind, { object: spec(fields) }).faults, want);
    });
  }
});

test("a DaemonSet whose count of templates is no number cannot be read", () => {
  const read = (count: string) =>
    daemonSetKind.unreadable?.({
      metadata: { annotations: { "deprecated.daemonset.template.generation": count } },
    });
  assert.equal(read("7"), undefined);
  assert.equal(read(""), 'strconv.ParseInt: parsing "": invalid syntax');
});

test("the name of a ReplicationController is counted in bytes, and its start not at all", () => {
  const object = {
    metadata: { name: "a".repeat(254), generateName: "-" },
    spec: { template: TEMPLATE },
  };
  assert.deepEqual(runKind(replicationControllerKind, { object }).faults, [
    `metadata.name: Invalid value: "${"a".repeat(254)}": must be no more than 253 bytes`,
  ]);
});

describe("updates", () => {
  const kinds: readonly KindOf<Workload>[] = [
    deploymentKind,
    replicaSetKind,
    daemonSetKind,
    statefulSetKind,
  ];
  for (const kind of kinds) {
    test(`${kind.names.kind}: the generation counts changes of the spec`, () => {
      const old = { ...spec(), metadata: { generation: 2 } };
      const generation = (fields: Fields) =>
        runKind(kind, { object: { ...spec(fields), metadata: { generation: 2 } }, old }).object
          .metadata.generation;
      assert.equal(generation({}), 2);
      assert.equal(generation({ minReadySeconds: 1 }), 3);
    });

    test(`${kind.names.kind}: a status write changes nothing of the spec`, () => {
      const status = { replicas: 1, numberReady: 1 };
      const { object, faults } = runKind(kind, {
        object: { ...spec({ minReadySeconds: 9 }), status },
        old: spec(),
        subresource: "status",
      });
      assert.deepEqual(faults, []);
      assert.equal(object.spec.minReadySeconds, undefined);
    });
  }

  test("Deployment: annotations count", () => {
    const metadata = { generation: 2, annotations: { a: "b" } };
    const { object } = runKind(deploymentKind, {
      object: { ...spec(), metadata },
      old: { ...spec(), metadata: { generation: 2 } },
    });
    assert.equal(object.metadata.generation, 3);
  });

  test("DaemonSet: changes of the template count twice", () => {
    const annotations = { "deprecated.daemonset.template.generation": "4" };
    const template = { ...TEMPLATE, spec: { containers: [{ name: "c", image: "i:2" }] } };
    const { object } = runKind(daemonSetKind, {
      object: spec({ template }),
      old: { ...spec(), metadata: { annotations } },
    });
    assert.deepEqual(object.metadata.annotations, {
      "deprecated.daemonset.template.generation": "5",
    });
  });

  test("StatefulSet: most of it is fixed", () => {
    const { faults } = runKind(statefulSetKind, {
      object: spec({ serviceName: "other" }),
      old: spec({ serviceName: "first" }),
    });
    assert.deepEqual(faults, [
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ]);
  });

  test("Deployment: what cannot be of a status", () => {
    const { faults } = runKind(deploymentKind, {
      object: {
        ...spec(),
        status: { replicas: 1, readyReplicas: 2, availableReplicas: 3, collisionCount: 1 },
      },
      old: { ...spec(), status: { collisionCount: 2 } },
      subresource: "status",
    });
    assert.deepEqual(faults, [
      "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
      "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
      "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
      "status.collisionCount: Invalid value: 1: cannot be decremented",
    ]);
  });
});

describe("Table rows of the apps group", () => {
  const cells = (kind: Kind, object: Fields) =>
    kind.columns.map((column) => column.cell(object, 0));

  test("a Deployment shows ready, up-to-date and available replicas", () => {
    const status = { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 };
    const object = { metadata: { name: "d" }, spec: { ...BASE, replicas: 3 }, status };
    assert.deepEqual(cells(deploymentKind, object), [
      "d",
      "1/3",
      2,
      1,
      "<unknown>",
      "c",
      "i:1",
      "app=x",
    ]);
  });

  test("ControllerRevision", () => {
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "s", controller: true };
    const object = { metadata: { name: "r", ownerReferences: [owner] }, revision: 3 };
    assert.deepEqual(cells(controllerRevisionKind, object), [
      "r",
      "statefulset.apps/s",
      3,
      "<unknown>",
    ]);
  });
});
