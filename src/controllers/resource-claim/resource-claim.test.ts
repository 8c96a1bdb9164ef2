import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import {
  resourceClaimKind,
  resourceClaimTemplateKind,
} from "#api/kinds/resource/v1/resource-claim.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { type ClaimState, decideClaim } from "./claim.ts";
import { decidePod } from "./pod.ts";
import { resourceClaims } from "./resource-claim.ts";

const AT = "2030-01-01T00:00:00Z";
const FINALIZER = "resource.kubernetes.io/delete-protection";
const spec = { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } };
const allocation = {
  devices: { results: [{ request: "r", driver: "gpu.example", pool: "p", device: "d" }] },
} as const;

function pod(phase: "Running" | "Succeeded", uid = "u"): Pod {
  return {
    metadata: { namespace: "default", name: "p", uid },
    spec: {
      containers: [],
      nodeName: "n",
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "t" }],
    },
    status: { phase },
  };
}

function claim(meta: ResourceClaim["metadata"], status: ResourceClaim["status"]): ResourceClaim {
  return {
    metadata: { namespace: "default", name: "c", ...meta },
    spec: { devices: { requests: [] } },
    status,
  };
}

const owners = [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true }];
const reservedFor = [{ resource: "pods", name: "p", uid: "u" }];
const allocated = { allocation, reservedFor };

describe("reservedFor and allocation of a ResourceClaim", () => {
  const consumers = (...pods: readonly Pod[]) =>
    new Map(pods.map((consumer) => [consumer.metadata.uid ?? "", consumer]));
  const rows: { name: string; state: ClaimState; want: readonly unknown[] }[] = [
    {
      name: "a claim of a running pod is kept",
      state: {
        claim: claim({ finalizers: [FINALIZER] }, allocated),
        consumers: consumers(pod("Running")),
        owner: undefined,
      },
      want: [],
    },
    {
      name: "a claim of a pod that has ended is released and deallocated",
      state: {
        claim: claim({ finalizers: [FINALIZER] }, allocated),
        consumers: consumers(pod("Succeeded")),
        owner: undefined,
      },
      want: [{}, { finalizers: [] }],
    },
    {
      name: "a claim without our finalizer loses reservedFor and keeps its allocation",
      state: { claim: claim({}, allocated), consumers: new Map(), owner: undefined },
      want: [{ allocation }],
    },
    {
      name: "a claim of another pod of the same name is released",
      state: {
        claim: claim({}, allocated),
        consumers: consumers(pod("Running", "other")),
        owner: undefined,
      },
      want: [{ allocation }],
    },
    {
      name: "a claim that is reserved for something other than a pod is kept",
      state: {
        claim: claim({}, { reservedFor: [{ apiGroup: "x", resource: "y", name: "p", uid: "u" }] }),
        consumers: new Map(),
        owner: undefined,
      },
      want: [],
    },
    {
      name: "a deleted claim that no pod uses is deallocated",
      state: {
        claim: claim({ finalizers: [FINALIZER], deletionTimestamp: AT }, { allocation }),
        consumers: new Map(),
        owner: undefined,
      },
      want: [{}, { finalizers: [] }],
    },
    {
      name: "a claim from a template is deleted when its pod has ended",
      state: {
        claim: claim({ ownerReferences: owners }, {}),
        consumers: new Map(),
        owner: pod("Succeeded"),
      },
      want: ["delete"],
    },
  ];
  for (const { name, state, want } of rows) {
    test(name, () => {
      const done = (decideClaim(state).writes ?? []).flat().map((write) => {
        if (write.op === "update") return (write.object as ResourceClaim).status;
        if (write.op !== "patch") return write.op;
        return { finalizers: (write.patch as ResourceClaim).metadata.finalizers };
      });
      assert.deepEqual(done, want);
    });
  }
});

test("resourceClaims: long names are shortened alike", () => {
  const long = { ...pod("Running"), metadata: { name: "p".repeat(60), uid: "u" } };
  const template = { metadata: {}, spec: { metadata: {}, spec: {} as ResourceClaim["spec"] } };
  const { writes = [] } = decidePod({
    pod: long,
    owned: [],
    claims: new Map(),
    templates: new Map(
      (long.spec.resourceClaims ?? []).map((entry) => [
        entry.resourceClaimTemplateName ?? "",
        template,
      ]),
    ),
  });
  const [write] = writes.flat();
  const base = write?.op === "create" ? write.object.metadata.generateName : undefined;
  assert.equal(base, `${"p".repeat(52)}-gp`);
});

describe("claims of pods in a cluster", () => {
  test("created from the template, listed in resourceClaimStatuses, released and deleted after the pod", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [resourceClaims] });
    await seedPod(cluster);
    assert.deepEqual(cluster.names(resourceClaimKind), []);
    assert.equal(
      cluster.events[0]?.message,
      'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io "t" not found',
    );
    await cluster.seed(resourceClaimTemplateKind, {
      metadata: { name: "t" },
      spec: { metadata: { labels: { app: "web" } }, spec },
    });
    const [made] = cluster.list(resourceClaimKind);
    const { name = "", labels, annotations } = made?.metadata ?? {};
    assert.match(name, /^p-gpu-.{5}$/);
    assert.deepEqual(labels, { app: "web" });
    assert.deepEqual(annotations, { "resource.kubernetes.io/pod-claim-name": "gpu" });
    assert.deepEqual(cluster.get(podKind, "p")?.status.resourceClaimStatuses, [
      { name: "gpu", resourceClaimName: name },
    ]);

    // A scheduler would have reserved it; this pod was put on its node by hand.
    await cluster.edit(resourceClaimKind, name, ({ metadata, status }) => {
      metadata.finalizers = [FINALIZER];
      Object.assign(status, { allocation });
    });
    const uid = cluster.get(podKind, "p")?.metadata.uid;
    assert.deepEqual(cluster.get(resourceClaimKind, name)?.status.reservedFor, [
      { resource: "pods", name: "p", uid },
    ]);
    await cluster.edit(podKind, "p", (p) => void (p.status.phase = "Succeeded"));
    assert.deepEqual(cluster.names(resourceClaimKind), []);
  });

  test("a claim that is gone is made again", async () => {
    await using cluster = await startCluster({ at: AT, controllers: [resourceClaims] });
    await cluster.seed(resourceClaimTemplateKind, { metadata: { name: "t" }, spec: { spec } });
    await seedPod(cluster);
    const [first = ""] = cluster.names(resourceClaimKind);
    const key = { namespace: "default", name: first };
    assert.ok((await cluster.client.delete(resourceClaimKind, key)).ok);
    await cluster.settle();
    const [second] = cluster.names(resourceClaimKind);
    assert.notEqual(second, undefined);
    assert.notEqual(second, first);
    assert.deepEqual(cluster.get(podKind, "p")?.status.resourceClaimStatuses, [
      { name: "gpu", resourceClaimName: second },
    ]);
  });
});

async function seedPod(cluster: Cluster): Promise<void> {
  await cluster.seed(podKind, {
    metadata: { name: "p" },
    spec: {
      nodeName: "n",
      containers: [{ name: "c", image: "i" }],
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "t" }],
    },
    status: { phase: "Running" },
  });
}
