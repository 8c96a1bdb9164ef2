import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podCertificateRequestKind } from "#api/kinds/certificates/v1beta1/pod-certificate-request.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { looseObject as object } from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import type { AccessAttributes, Decision } from "./authorizer.ts";
import { createNodeAuthorizer } from "./node.ts";
import { NodeObjects } from "./node-objects.ts";

const node = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };

function world(features: readonly string[] = []): {
  objects: MemoryObjects;
  ask: (a: Partial<AccessAttributes>) => Decision;
} {
  const objects = new MemoryObjects();
  const spec = {
    nodeName: "n1",
    serviceAccountName: "bot",
    imagePullSecrets: [{ name: "pull" }],
    containers: [
      {
        name: "c",
        env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "env-map", key: "k" } } }],
        envFrom: [{ secretRef: { name: "env-secret" } }],
      },
    ],
    volumes: [
      { name: "v", secret: { secretName: "vol-secret" } },
      { name: "p", persistentVolumeClaim: { claimName: "claim" } },
      { name: "e", ephemeral: {} },
      { name: "j", projected: { sources: [{ configMap: { name: "proj-map" } }] } },
    ],
    resourceClaims: [{ name: "r", resourceClaimTemplateName: "t" }],
  };
  const status = { resourceClaimStatuses: [{ name: "r", resourceClaimName: "made" }] };
  objects.put(podKind, object("pod", { spec, status }));
  const elsewhere = { ...spec, nodeName: "n2", imagePullSecrets: [{ name: "other" }] };
  objects.put(podKind, object("elsewhere", { spec: elsewhere, status: {} }));
  objects.put(persistentVolumeClaimKind, object("claim", { spec: { volumeName: "pv" } }));
  objects.put(
    persistentVolumeKind,
    object(
      "pv",
      {
        spec: {
          claimRef: { namespace: "ns", name: "claim" },
          csi: {
            nodeStageSecretRef: { namespace: "vault", name: "stage" },
            controllerPublishSecretRef: { namespace: "vault", name: "controller" },
          },
        },
      },
      { namespace: "" },
    ),
  );
  objects.put(volumeAttachmentKind, object("va", { spec: { nodeName: "n1" } }, { namespace: "" }));
  const related = new NodeObjects(objects, new AbortController().signal);
  const authorizer = createNodeAuthorizer(related, features);
  const ask = (changes: Partial<AccessAttributes>): Decision =>
    authorizer.authorize({
      user: node,
      isResource: true,
      verb: "get",
      path: "",
      group: "",
      version: "v1",
      resource: "secrets",
      subresource: "",
      namespace: "ns",
      name: "",
      ...changes,
    }) as Decision;
  return { objects, ask };
}

const unrelated = "no relationship found between node 'n1' and this object";
const ownPods = [{ field: "spec.nodeName", operator: "=" as const, value: "n1" }];

const cases: { name: string; asked: Partial<AccessAttributes>; reason: string | undefined }[] = [
  { name: "a pull secret", asked: { name: "pull" }, reason: undefined },
  { name: "a secret in the environment", asked: { name: "env-secret" }, reason: undefined },
  { name: "a secret in a volume", asked: { name: "vol-secret" }, reason: undefined },
  {
    name: "a secret that mounting a volume needs",
    asked: { namespace: "vault", name: "stage" },
    reason: undefined,
  },
  {
    name: "not the secret that only the volume's controller needs",
    asked: { namespace: "vault", name: "controller" },
    reason: unrelated,
  },
  { name: "not a secret of another node's pod", asked: { name: "other" }, reason: unrelated },
  { name: "not all secrets", asked: { verb: "list" }, reason: "No Object name found" },
  {
    name: "not an update of a secret",
    asked: { verb: "update", name: "pull" },
    reason: "can only read resources of this type",
  },
  { name: "a config map", asked: { resource: "configmaps", name: "env-map" }, reason: undefined },
  {
    name: "a projected config map",
    asked: { resource: "configmaps", name: "proj-map", verb: "watch" },
    reason: undefined,
  },
  {
    name: "the PersistentVolumeClaim of its pod",
    asked: { resource: "persistentvolumeclaims", name: "claim" },
    reason: undefined,
  },
  {
    name: "the claim of an ephemeral volume",
    asked: { resource: "persistentvolumeclaims", name: "pod-e" },
    reason: undefined,
  },
  {
    name: "a claim's status to write",
    asked: {
      resource: "persistentvolumeclaims",
      name: "claim",
      subresource: "status",
      verb: "patch",
    },
    reason: undefined,
  },
  {
    name: "the volume of a claim",
    asked: { resource: "persistentvolumes", namespace: "", name: "pv" },
    reason: undefined,
  },
  {
    name: "the VolumeAttachment of its node",
    asked: { group: "storage.k8s.io", resource: "volumeattachments", namespace: "", name: "va" },
    reason: undefined,
  },
  {
    name: "a resource claim made from a template",
    asked: { group: "resource.k8s.io", resource: "resourceclaims", name: "made" },
    reason: undefined,
  },
  {
    name: "a token for the account of its pod",
    asked: { resource: "serviceaccounts", subresource: "token", verb: "create", name: "bot" },
    reason: undefined,
  },
  {
    name: "not a token for another account",
    asked: { resource: "serviceaccounts", subresource: "token", verb: "create", name: "x" },
    reason: unrelated,
  },
  {
    name: "pods of its node by field selector",
    asked: { resource: "pods", verb: "list", fieldSelector: ownPods },
    reason: undefined,
  },
  {
    name: "not all pods",
    asked: { resource: "pods", verb: "list" },
    reason: "can only list/watch pods with spec.nodeName field selector",
  },
  {
    name: "not another node's pod",
    asked: { resource: "pods", name: "elsewhere" },
    reason: unrelated,
  },
  {
    name: "its own Node object",
    asked: { resource: "nodes", namespace: "", name: "n1" },
    reason: undefined,
  },
  {
    name: "not another node",
    asked: { resource: "nodes", namespace: "", name: "n2" },
    reason: "node 'n1' cannot read 'n2', only its own Node object",
  },
  {
    name: "its own node lease",
    asked: {
      group: "coordination.k8s.io",
      resource: "leases",
      namespace: "kube-node-lease",
      verb: "update",
      name: "n1",
    },
    reason: undefined,
  },
  {
    name: "not another's lease",
    asked: {
      group: "coordination.k8s.io",
      resource: "leases",
      namespace: "kube-node-lease",
      verb: "update",
      name: "n2",
    },
    reason: "can only access node lease with the same name as the requesting node",
  },
  { name: "services, by rule", asked: { resource: "services", verb: "watch" }, reason: undefined },
  {
    name: "not Deployments, which no rule names",
    asked: { group: "apps", resource: "deployments" },
    reason: "",
  },
];

describe("Node authorizer: what a node may read and write", () => {
  for (const { name, asked, reason } of cases) {
    test(name, () => {
      const want: Decision =
        reason === undefined
          ? { decision: "allow", reason: "" }
          : { decision: "noOpinion", reason };
      assert.deepEqual(world().ask(asked), want);
    });
  }
});

test("access comes and goes with the pod", async () => {
  const { objects, ask } = world();
  assert.equal(ask({ name: "pull" }).decision, "allow");
  await objects.delete(podKind, "ns", "pod");
  assert.equal(ask({ name: "pull" }).decision, "noOpinion");
  const pod = { spec: { nodeName: "n1", imagePullSecrets: [{ name: "late" }] }, status: {} };
  objects.put(podKind, object("late", pod));
  assert.equal(ask({ name: "late" }).decision, "allow");
});

test("a mirror pod gives no access", () => {
  const { objects, ask } = world();
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  const spec = { nodeName: "n1", imagePullSecrets: [{ name: "stolen" }] };
  objects.put(podKind, object("mirror", { spec, status: {} }, mirror));
  assert.deepEqual(ask({ name: "stolen" }), { decision: "noOpinion", reason: unrelated });
});

test("users that are no nodes: no opinion", () => {
  const user = { name: "alice", groups: ["system:nodes"] };
  const { ask } = world();
  assert.deepEqual(ask({ user, name: "pull" }), { decision: "noOpinion", reason: "" });
});

describe("podcertificaterequests and clustertrustbundles", () => {
  const group = "certificates.k8s.io";
  const requests = { group, resource: "podcertificaterequests" };
  const features = ["ClusterTrustBundle", "PodCertificateRequest"];

  test("nothing is allowed while the features are off", () => {
    const { ask } = world();
    for (const asked of [
      { ...requests, verb: "create" },
      { group, resource: "clustertrustbundles", verb: "list" },
    ]) {
      assert.equal(ask(asked).decision, "noOpinion");
    }
  });

  test("with the features on: create, watch of the own node's, get of an own one, read of bundles", () => {
    const { ask, objects } = world(features);
    objects.put(podCertificateRequestKind, object("mine", { spec: { nodeName: "n1" } }));
    objects.put(podCertificateRequestKind, object("theirs", { spec: { nodeName: "n2" } }));
    for (const asked of [
      { ...requests, verb: "create" },
      { ...requests, verb: "watch", fieldSelector: ownPods },
      { ...requests, verb: "get", name: "mine" },
      { group, resource: "clustertrustbundles", verb: "watch" },
    ]) {
      assert.equal(ask(asked).decision, "allow", JSON.stringify(asked));
    }
    const refusals: [Partial<AccessAttributes>, string][] = [
      [{ ...requests, verb: "get", name: "theirs" }, unrelated],
      [
        { ...requests, verb: "list" },
        "can only list/watch podcertificaterequests with nodeName field selector",
      ],
      [{ ...requests, verb: "delete" }, "nodes may not delete podcertificaterequests"],
      [
        { ...requests, verb: "update", subresource: "status" },
        "nodes may not access the status subresource of PodCertificateRequests",
      ],
    ];
    for (const [asked, reason] of refusals) {
      assert.deepEqual(ask(asked), { decision: "noOpinion", reason });
    }
  });
});
