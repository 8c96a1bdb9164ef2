/**
 * Controllers that die while certificates are approved, signed and cleaned away, bootstrap tokens sign
 * and expire, an autoscaler scales, budgets are counted, disruptions turn out to be none, and endpoints
 * are mirrored: what is left in the end is the same.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "vitest";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { ControllerOptions } from "#controllers/registry/controllers.ts";
import { issueCertificate } from "#pki/certificate.ts";
import { createRequest } from "#pki/certificate-request.ts";
import { newKey } from "#pki/key-pair.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Mortal } from "./mortal.ts";

const AT = "2030-01-01T00:00:00Z";
const HOUR_MS = 3_600_000;
const labels = { app: "web" };
const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }];
const node = { commonName: "system:node:a", organizations: ["system:nodes"] };
const request = btoa(createRequest(node, [], newKey().privateKey));

/** What a signer hands out is not the matter here: one for all. */
const authority = newKey();
const certificatePem = issueCertificate(
  {
    subject: node,
    publicKey: authority.publicKey,
    usages: ["client auth"],
    notBeforeMs: Date.parse(AT),
    notAfterMs: Date.parse(AT) + 24 * HOUR_MS,
  },
  { key: authority.privateKey },
);

const options: ControllerOptions = {
  hmac: (key, text) => createHmac("sha256", key).update(text).digest("base64url"),
  certificateSigning: {
    lifetimeMaxMs: 365 * 24 * HOUR_MS,
    signers: { "kubernetes.io/kube-apiserver-client-kubelet": () => certificatePem },
  },
};

/** The cluster with a metrics API, in which each pod uses twice what it requested. */
function measuredBy(cluster: Cluster): Pick<Cluster, "clock" | "transport"> {
  const raw: Cluster["transport"]["raw"] = async (path, signal) => {
    if (!path.startsWith("/apis/metrics.k8s.io/")) return cluster.transport.raw(path, signal);
    const timestamp = timeFromMs(cluster.clock.nowMs());
    const items = cluster.list(podKind).map(({ metadata }) => ({
      metadata: { name: metadata.name, namespace: metadata.namespace },
      ...{ timestamp, window: "30s", containers: [{ name: "c", usage: { cpu: "2" } }] },
    }));
    return { ok: true, value: { items } };
  };
  return { clock: cluster.clock, transport: { ...cluster.transport, raw } };
}

async function beKubelet(cluster: Cluster): Promise<void> {
  const now = timeFromMs(cluster.clock.nowMs() - 600_000);
  for (const { metadata, status } of cluster.list(podKind)) {
    if (status.phase !== "Pending") continue;
    await cluster.edit(podKind, metadata.name ?? "", (pod) => {
      pod.status.phase = "Running";
      pod.status.startTime = now;
      pod.status.conditions = [
        ...(pod.status.conditions ?? []),
        { type: "Ready", status: "True", lastTransitionTime: now },
      ];
    });
  }
}

function token(id: string, more: Readonly<Record<string, string>> = {}) {
  const data = {
    "token-id": id,
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-signing": "true",
    ...more,
  };
  return {
    metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, btoa(value)])),
  };
}

async function begin(cluster: Cluster): Promise<void> {
  for (const name of ["default", "kube-system", "kube-public"])
    await cluster.seed(namespaceKind, { metadata: { name } });
  await cluster.seed(configMapKind, {
    metadata: { name: "cluster-info", namespace: "kube-public" },
    data: { kubeconfig: "apiVersion: v1" },
  });
  await cluster.seed(secretKind, token("abcdef", { expiration: "2030-01-01T00:30:00Z" }));
  await cluster.seed(secretKind, token("forevr"));
  await cluster.seed(certificateSigningRequestKind, {
    metadata: { name: "r", creationTimestamp: AT },
    spec: {
      request,
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
      username: "system:node:a",
    },
  });
  await cluster.seed(deploymentKind, {
    metadata: { name: "web", generation: 1 },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
  await cluster.seed(podDisruptionBudgetKind, {
    metadata: { name: "web" },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  });
  await cluster.seed(podKind, {
    metadata: { name: "spared", labels: { app: "other" } },
    spec: { containers },
    status: {
      conditions: [
        { type: "DisruptionTarget", status: "True", lastTransitionTime: AT, reason: "Eviction" },
      ],
    },
  });
  await cluster.seed(serviceKind, { metadata: { name: "out" }, spec: { ports: [{ port: 80 }] } });
  await cluster.seed(endpointsKind, {
    metadata: { name: "out" },
    subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }],
  });
}

async function goOnWith(cluster: Cluster): Promise<void> {
  await cluster.seed(horizontalPodAutoscalerKind, {
    metadata: { name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      maxReplicas: 5,
      metrics: [
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 100 } },
        },
      ],
    },
  });
  await cluster.edit(endpointsKind, "out", (endpoints) => {
    endpoints.subsets![0]!.addresses!.push({ ip: "192.0.2.2" });
  });
}

function summary(cluster: Cluster): unknown {
  const { status: budget } = cluster.get(podDisruptionBudgetKind, "web")!;
  const autoscaler = cluster.get(horizontalPodAutoscalerKind, "web");
  return {
    requests: cluster
      .list(certificateSigningRequestKind)
      .map(({ status }) => [!!status.certificate, status.conditions?.map(({ reason }) => reason)]),
    tokens: cluster.names(secretKind, "kube-system"),
    info: Object.keys(cluster.get(configMapKind, "cluster-info", "kube-public")?.data ?? {}),
    web: cluster.get(deploymentKind, "web")?.spec.replicas,
    wanted: [autoscaler?.status.currentReplicas, autoscaler?.status.desiredReplicas],
    budget: [budget.disruptionsAllowed, budget.currentHealthy, budget.expectedPods],
    spared: cluster
      .get(podKind, "spared")
      ?.status.conditions?.filter(({ type }) => type === "DisruptionTarget")
      .map(({ status }) => status),
    mirrored: cluster
      .list(endpointSliceKind)
      .map(({ endpoints }) => endpoints?.flatMap(({ addresses }) => addresses ?? []).sort()),
  };
}

async function story(diesAt: number): Promise<{ ends: unknown[]; writes: number }> {
  await using cluster = await startCluster({ at: AT });
  const world = measuredBy(cluster);
  const first = new Mortal(world, diesAt, [], options);
  let current = first;
  const goOn = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await cluster.advance(16_000);
      if (current.isDead) {
        await current.end();
        current = new Mortal(world, Number.POSITIVE_INFINITY, [], options);
        await cluster.advance(16_000);
      }
      await beKubelet(cluster);
    }
  };
  await begin(cluster);
  await goOn(4);
  await goOnWith(cluster);
  await goOn(12);
  const ends = [summary(cluster)];
  await cluster.client.delete(endpointsKind, { namespace: "default", name: "out" });
  await cluster.advance(2 * HOUR_MS); // the token expires, and the request is old enough to go
  await goOn(2);
  ends.push(summary(cluster));
  await current.end();
  return { ends, writes: first.writes };
}

test("certificates, tokens, scales and budgets end the same, whichever write is the last", async () => {
  const { ends: wanted, writes } = await story(Number.POSITIVE_INFINITY);
  assert.ok(writes > 25, `${writes} writes`);
  assert.deepEqual(wanted, [
    {
      requests: [[true, ["AutoApproved"]]],
      tokens: ["bootstrap-token-abcdef", "bootstrap-token-forevr"],
      info: ["jws-kubeconfig-abcdef", "jws-kubeconfig-forevr", "kubeconfig"],
      web: 5,
      wanted: [5, 5],
      budget: [1, 5, 5],
      spared: ["False"],
      mirrored: [["192.0.2.1", "192.0.2.2"]],
    },
    {
      requests: [],
      tokens: ["bootstrap-token-forevr"],
      info: ["jws-kubeconfig-forevr", "kubeconfig"],
      web: 5,
      wanted: [5, 5],
      budget: [1, 5, 5],
      spared: ["False"],
      mirrored: [],
    },
  ]);
  for (let diesAt = 0; diesAt < writes; diesAt += 3) {
    const { ends } = await story(diesAt);
    assert.deepEqual(ends, wanted, `died at write ${diesAt}`);
  }
}, 120_000);
