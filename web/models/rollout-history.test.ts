import assert from "node:assert/strict";
import { test } from "vitest";
import { canDrain, drainPlan } from "./drain-plan.ts";
import type { KubeObject, PodObject } from "./kube-object.ts";
import type { Resource } from "./resources.ts";
import { rolloutHistory } from "./rollout-history.ts";

const deployments = { group: "apps", version: "v1", plural: "deployments" } as Resource;
const owner = (kind: string, uid = "u") => [
  { apiVersion: "apps/v1", kind, name: "web", uid, controller: true },
];

test("rollout history: ReplicaSets of a Deployment, newest first; undo takes the template without its hash", () => {
  const deployment = { metadata: { name: "web", namespace: "default", uid: "u" } } as KubeObject;
  const replicaSet = (revision: string, image: string, uid = "u") =>
    ({
      metadata: {
        name: `web-${revision}`,
        ownerReferences: owner("Deployment", uid),
        annotations: { "deployment.kubernetes.io/revision": revision },
      },
      spec: {
        template: {
          metadata: { labels: { app: "web", "pod-template-hash": "x" } },
          spec: { containers: [{ name: "c", image }] },
        },
      },
    }) satisfies KubeObject;
  const revisions = rolloutHistory(deployments, deployment, [
    replicaSet("1", "a"),
    replicaSet("10", "c"),
    replicaSet("2", "b"),
    replicaSet("11", "other", "another-uid"),
  ]);
  assert.deepEqual(
    revisions.map(({ revision, images, isCurrent }) => [revision, images, isCurrent]),
    [
      [10, ["c"], true],
      [2, ["b"], false],
      [1, ["a"], false],
    ],
  );
  assert.deepEqual(revisions[2]?.undo.body, [
    {
      op: "replace",
      path: "/spec/template",
      value: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image: "a" }] },
      },
    },
  ]);
});

test("rollout history: a ControllerRevision of a StatefulSet is its own patch", () => {
  const sets = { ...deployments, plural: "statefulsets" };
  const set = { metadata: { name: "db", namespace: "default", uid: "u" } } as KubeObject;
  const data = { spec: { template: { $patch: "replace", spec: { containers: [] } } } };
  const source = {
    metadata: { name: "db-1", ownerReferences: owner("StatefulSet") },
    revision: 1,
    data,
  };
  const [first] = rolloutHistory(sets, set, [source]);
  assert.equal(first?.undo.contentType, "application/strategic-merge-patch+json");
  assert.deepEqual(first?.undo.body, data);
});

test("drain plan: DaemonSet and static pods stay; pods without a controller and emptyDir data need consent", () => {
  const pod = (name: string, more: object, spec: object = {}) =>
    ({ metadata: { name, ...more }, spec, status: { phase: "Running" } }) satisfies PodObject;
  const pods = [
    pod("agent", { ownerReferences: owner("DaemonSet") }),
    pod("static", { annotations: { "kubernetes.io/config.mirror": "x" } }),
    pod("web", { ownerReferences: owner("ReplicaSet") }),
    pod("bare", {}),
    pod("cache", { ownerReferences: owner("ReplicaSet") }, { volumes: [{ emptyDir: {} }] }),
  ];
  const careful = drainPlan(pods, { force: false, deletesEmptyDirs: false });
  assert.deepEqual(
    careful.map(({ verdict }) => verdict.does),
    ["stay", "stay", "evict", "refuse", "refuse"],
  );
  assert.equal(canDrain(careful), false);
  const forced = drainPlan(pods, { force: true, deletesEmptyDirs: true });
  assert.deepEqual(
    forced.map(({ verdict }) => verdict.does),
    ["stay", "stay", "evict", "evict", "evict"],
  );
  assert.equal(canDrain(forced), true);
});
