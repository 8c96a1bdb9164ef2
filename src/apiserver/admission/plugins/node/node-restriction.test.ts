import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Kind } from "#api/kind.ts";
import { podCertificateRequestKind } from "#api/kinds/certificates/v1beta1/pod-certificate-request.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { admitWith, type Loose, looseObject as object } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { alwaysAllow, alwaysDeny } from "../../../authz/chain.ts";
import { nodeRestriction } from "./node-restriction.ts";

const user = { name: "system:node:n1", groups: ["system:nodes"] };

function world(): MemoryObjects {
  const objects = new MemoryObjects();
  objects.put(nodeKind, object("n1", { spec: {} }, { namespace: "", uid: "node-uid" }));
  const volumes = [
    { name: "t", projected: { sources: [{ serviceAccountToken: { audience: "vault" } }] } },
  ];
  objects.put(podKind, object("mine", { spec: { nodeName: "n1", volumes } }, { uid: "mine-uid" }));
  objects.put(podKind, object("theirs", { spec: { nodeName: "n2" } }, { uid: "theirs-uid" }));
  return objects;
}

async function attempt(kind: Kind, made: never, changes: Loose, authorizer = alwaysDeny) {
  const plugin = nodeRestriction(authorizer);
  const { status } = await admitWith(plugin, kind, made, { objects: world(), user, ...changes });
  return status?.message;
}

const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid", controller: true };
const mirror = (changes: Loose = {}, spec: Loose = {}): never =>
  object(
    "m",
    { spec: { nodeName: "n1", ...spec } },
    { annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences: [owner], ...changes },
  );

const cases: { name: string; kind: Kind; object: never; changes?: Loose; message?: string }[] = [
  { name: "may create mirror pods", kind: podKind, object: mirror() },
  {
    name: "may not create other pods",
    kind: podKind,
    object: object("p", { spec: { nodeName: "n1" } }),
    message:
      'pods "p" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "n1" ' +
      "can only create mirror pods",
  },
  {
    name: "may not create them for another node",
    kind: podKind,
    object: mirror({}, { nodeName: "n2" }),
    message:
      'pods "m" is forbidden: node "n1" can only create pods with spec.nodeName set to itself',
  },
  {
    name: "a node must own its mirror pods by its uid",
    kind: podKind,
    object: mirror({ ownerReferences: [{ ...owner, uid: "x" }] }),
    message: 'pods "m" is forbidden: node n1 UID mismatch: expected x got node-uid',
  },
  {
    name: "may not refer to secrets in them",
    kind: podKind,
    object: mirror({}, { volumes: [{ name: "v", secret: { secretName: "s" } }] }),
    message: 'pods "m" is forbidden: node "n1" can not create pods that reference secrets',
  },
  {
    name: "may delete its pods",
    kind: podKind,
    object: object("mine"),
    changes: { operation: "DELETE" },
  },
  {
    name: "may not delete others",
    kind: podKind,
    object: object("theirs"),
    changes: { operation: "DELETE" },
    message:
      'pods "theirs" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
  },
  {
    name: "may not change labels by a pod's status",
    kind: podKind,
    object: object("mine", { spec: { nodeName: "n1" }, status: {} }, { labels: { a: "b" } }),
    changes: {
      subresource: "status",
      old: object("mine", { spec: { nodeName: "n1" }, status: {} }),
    },
    message: 'pods "mine" is forbidden: node "n1" cannot update labels through pod status',
  },
  {
    name: "may not touch another node",
    kind: nodeKind,
    object: object("n2", { spec: {} }),
    message: 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
  },
  {
    name: "may register with its own labels",
    kind: nodeKind,
    object: object(
      "n1",
      { spec: {} },
      { labels: { "kubernetes.io/os": "linux", "node.kubernetes.io/x": "y", "acme.io/z": "1" } },
    ),
  },
  {
    name: "may not give itself labels of the system",
    kind: nodeKind,
    object: object(
      "n1",
      { spec: {} },
      { labels: { "node-restriction.kubernetes.io/a": "b", "node-role.kubernetes.io/x": "" } },
    ),
    message:
      'nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: ' +
      "node-restriction.kubernetes.io/a, node-role.kubernetes.io/x",
  },
  {
    name: "may not take its taints off",
    kind: nodeKind,
    object: object("n1", { spec: {} }),
    changes: { old: object("n1", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } }) },
    message: 'nodes "n1" is forbidden: node "n1" is not allowed to modify taints',
  },
  {
    name: "may not write another's lease",
    kind: leaseKind,
    object: object("n2", {}, { namespace: "kube-node-lease" }),
    message:
      'leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name ' +
      "as the requesting node",
  },
  {
    name: "may write a claim's capacity",
    kind: persistentVolumeClaimKind,
    object: object("c", { spec: {}, status: { capacity: { storage: "2Gi" } } }),
    changes: { subresource: "status", old: object("c", { spec: {}, status: {} }) },
  },
  {
    name: "may not write its phase",
    kind: persistentVolumeClaimKind,
    object: object("c", { spec: {}, status: { phase: "Lost" } }),
    changes: { subresource: "status", old: object("c", { spec: {}, status: {} }) },
    message:
      'persistentvolumeclaims "c" is forbidden: node "n1" is not allowed to update fields other ' +
      "than status.quantity and status.conditions",
  },
];

describe("NodeRestriction: a node", () => {
  for (const { name, kind, object: made, changes = {}, message } of cases) {
    test(name, async () => assert.equal(await attempt(kind, made, changes), message));
  }
});

describe("NodeRestriction: tokens for pods", () => {
  const ask = (name: string, audiences: string[] = [], authorizer = alwaysDeny) =>
    attempt(
      serviceAccountKind,
      object("bot", {
        spec: {
          audiences,
          boundObjectRef: { kind: "Pod", apiVersion: "v1", name, uid: `${name}-uid` },
        },
      }),
      { subresource: "token" },
      authorizer,
    );

  test("an audience that the pod has a volume for", async () => {
    assert.equal(await ask("mine", ["vault"]), undefined);
  });
  test("a token for an audience that no volume of the pod names is refused", async () => {
    assert.equal(
      await ask("mine", ["bank"]),
      'serviceaccounts "bot" is forbidden: audience "bank" not found in pod spec volume, ' +
        "system:node:n1 is not authorized to request tokens for this audience",
    );
  });
  test("a token for another audience is allowed by authorization", async () => {
    assert.equal(await ask("mine", ["bank"], alwaysAllow), undefined);
  });
  test("a token for a pod of another node is refused", async () => {
    assert.match(
      (await ask("theirs")) ?? "",
      /node requested token bound to a pod scheduled on a different node/,
    );
  });
});

test("NodeRestriction: users that are no nodes are not restricted", async () => {
  const alice = { name: "alice", groups: [] };
  assert.equal(await attempt(nodeKind, object("n2", { spec: {} }), { user: alice }), undefined);
});

describe("NodeRestriction: PodCertificateRequests are refused", () => {
  const spec = {
    ...{ signerName: "a.b/c", podName: "mine", podUID: "mine-uid", nodeName: "n1" },
    ...{ nodeUID: "node-uid", serviceAccountName: "bot", serviceAccountUID: "bot-uid" },
  };
  const rows: { name: string; changes: Loose; says?: string }[] = [
    { name: "for an own pod that mounts a certificate of the signer", changes: {} },
    {
      name: "for another node",
      changes: { nodeName: "n2" },
      says: 'PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"',
    },
    {
      name: "for a pod of another node",
      changes: { podName: "theirs", podUID: "theirs-uid" },
      says: 'pod "ns/theirs" is not running on node "n1" named in the PodCertificateRequest',
    },
    {
      name: "for another service account",
      changes: { serviceAccountName: "admin" },
      says: 'PodCertificateRequest for pod "ns/mine" contains serviceAccountName ("admin") that differs from running pod ("bot")',
    },
    {
      name: "for another pod of the name",
      changes: { podUID: "old" },
      says: 'contains pod UID ("old") which differs from running pod "mine-uid"',
    },
    {
      name: "of a signer that no volume names",
      changes: { signerName: "a.b/other" },
      says: 'pod "ns/mine" does not mount a podCertificate projected volume for signer "a.b/other"',
    },
  ];
  test.each(rows)("$name", async ({ changes, says }) => {
    const objects = world();
    const podCertificate = { signerName: "a.b/c", keyType: "ED25519", keyPath: "k" };
    const volumes = [{ name: "c", projected: { sources: [{ podCertificate }] } }];
    const own = { nodeName: "n1", serviceAccountName: "bot", volumes };
    objects.put(podKind, object("mine", { spec: own }, { uid: "mine-uid" }));
    objects.put(serviceAccountKind, object("bot", {}, { uid: "bot-uid" }));
    const plugin = nodeRestriction(alwaysDeny, ["PodCertificateRequest"]);
    const made = object("req", { spec: { ...spec, ...changes } });
    const { status } = await admitWith(plugin, podCertificateRequestKind, made, { objects, user });
    if (says === undefined) assert.equal(status, undefined);
    else assert.ok(status?.message?.includes(says), status?.message);
  });
});
