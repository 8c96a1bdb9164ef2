/**
 * Controllers that die while volumes are made, attached and reclaimed, a node falls silent and goes,
 * claims of devices come and go with their pods, and the small controllers do their part: what is
 * left in the end is the same.
 */
import assert from "node:assert/strict";
import { test } from "vitest";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import {
  resourceClaimKind,
  resourceClaimTemplateKind,
} from "#api/kinds/resource/v1/resource-claim.ts";
import { csiNodeKind } from "#api/kinds/storage/v1/csi-node.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { microTimeFromMs, timeFromMs } from "#api/meta/time.ts";
import { garbageCollector } from "#controllers/garbage-collector.ts";
import { poolOf } from "#controllers/node-ipam/pool.ts";
import type { ControllerOptions } from "#controllers/registry/controllers.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Mortal } from "./mortal.ts";

const WATCHED = [deploymentKind, jobKind, persistentVolumeClaimKind, podKind, replicaSetKind];
const collector = garbageCollector(new ResourceSet(WATCHED));
const containers = [{ name: "c", image: "i" }];
const template = (app: string) => ({ metadata: { labels: { app } }, spec: { containers } });
const key = (name: string) => ({ namespace: "default", name });
const claimSpec = (storageClassName: string) => ({
  accessModes: ["ReadWriteOnce"],
  storageClassName,
  resources: { requests: { storage: "1Gi" } },
});

function options(): ControllerOptions {
  const pool = poolOf("10.244.0.0/16", 24);
  if ("fault" in pool) throw new Error(pool.fault);
  return {
    nodeIpam: { pools: [pool], reserved: [] },
    nodeHealth: { gracePeriodMs: 40_000, startupGracePeriodMs: 60_000 },
    nodeEviction: { rate: 0.1, secondaryRate: 0.01, largeZoneMin: 50, unhealthyShare: 0.55 },
    localVolumes: { directory: "/data" },
    accountTokens: { rootCa: "ca", sign: (claims) => JSON.stringify(claims) },
  };
}

/** What nodes, the scheduler and a driver do: pods run, leases are renewed, volumes are attached. */
async function beNodes(cluster: Cluster, alive: readonly string[]): Promise<void> {
  const now = timeFromMs(cluster.clock.nowMs());
  for (const name of alive) {
    await cluster.edit(
      leaseKind,
      name,
      (lease) => void (lease.spec.renewTime = microTimeFromMs(cluster.clock.nowMs())),
      "kube-node-lease",
    );
  }
  for (const { metadata, spec, status } of cluster.list(podKind)) {
    const { name = "", deletionTimestamp } = metadata;
    const isOn = alive.includes(spec.nodeName ?? "n1");
    if (!isOn) continue;
    if (deletionTimestamp !== undefined) {
      await cluster.client.delete(podKind, key(name), { gracePeriodSeconds: 0 });
    } else if (status.phase === "Pending") {
      const isJob = metadata.labels?.["job-name"] !== undefined;
      await cluster.edit(podKind, name, (pod) => {
        pod.spec.nodeName ??= "n1";
        pod.status.phase = isJob ? "Succeeded" : "Running";
        const ready = isJob ? "False" : "True";
        pod.status.conditions = [{ type: "Ready", status: ready, lastTransitionTime: now }];
      });
    }
  }
  await beDriver(cluster);
}

async function beDriver(cluster: Cluster): Promise<void> {
  for (const { metadata, status } of cluster.list(volumeAttachmentKind)) {
    const { name = "", deletionTimestamp } = metadata;
    if (deletionTimestamp === undefined && status?.attached !== true) {
      await cluster.edit(volumeAttachmentKind, name, (a) => void (a.status = { attached: true }));
    }
  }
}

function summary(cluster: Cluster): unknown {
  return {
    volumes: cluster
      .list(persistentVolumeKind)
      .map(({ metadata, spec, status }) => [
        metadata.annotations?.["pv.kubernetes.io/provisioned-by"] ?? metadata.name,
        spec.claimRef?.name,
        status.phase,
        metadata.finalizers,
      ]),
    claims: cluster
      .list(persistentVolumeClaimKind)
      .map(({ metadata, status }) => [metadata.name, status.phase, metadata.finalizers]),
    attachments: cluster.list(volumeAttachmentKind).map(({ spec }) => spec.nodeName),
    nodes: cluster
      .list(nodeKind)
      .map(({ metadata, spec }) => [
        metadata.name,
        spec.podCIDRs,
        spec.taints?.map(({ key: taint, effect }) => [taint, effect]),
      ]),
    pods: cluster
      .list(podKind)
      .map(({ metadata, spec, status }) => [
        metadata.generateName ?? metadata.name,
        spec.nodeName,
        status.phase,
      ])
      .sort(),
    devices: cluster
      .list(resourceClaimKind)
      .map(({ metadata }) => metadata.annotations?.["resource.kubernetes.io/pod-claim-name"]),
    mirrored: cluster
      .list(endpointSliceKind)
      .map(({ metadata, endpoints }) => [
        metadata.labels?.["kubernetes.io/service-name"],
        endpoints?.flatMap(({ addresses }) => addresses),
      ]),
    rules: cluster.get(clusterRoleKind, "all")?.rules,
    jobs: cluster.names(jobKind),
    token: Object.keys(cluster.get(secretKind, "token")?.data ?? {}).sort(),
    certificates: cluster.names(configMapKind),
    scaled: cluster.get(deploymentKind, "wide")?.spec.replicas,
    replicas: cluster.get(replicationControllerKind, "old")?.status.readyReplicas,
  };
}

async function begin(cluster: Cluster): Promise<void> {
  for (const name of ["default", "kube-system"])
    await cluster.seed(namespaceKind, { metadata: { name } });
  const ready = [{ type: "Ready", status: "True" }] as const;
  for (const name of ["n1", "n2", "n3"]) {
    await cluster.seed(nodeKind, {
      metadata: { name, labels: { "kubernetes.io/hostname": name } },
      status: { conditions: ready },
    });
    await cluster.seed(csiNodeKind, {
      metadata: { name },
      spec: { drivers: [{ name: "disk.example", nodeID: name }] },
    });
    await cluster.seed(leaseKind, {
      metadata: { name, namespace: "kube-node-lease" },
      spec: { holderIdentity: name, renewTime: microTimeFromMs(cluster.clock.nowMs()) },
    });
  }
  await cluster.seed(persistentVolumeKind, {
    metadata: { name: "disk" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "disks",
      persistentVolumeReclaimPolicy: "Retain",
      csi: { driver: "disk.example", volumeHandle: "h" },
    },
  });
  await cluster.seed(persistentVolumeKind, {
    metadata: { name: "temporary" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "temporary",
      persistentVolumeReclaimPolicy: "Delete",
      hostPath: { path: "/tmp/x" },
    },
  });
}

async function makeClaims(cluster: Cluster): Promise<void> {
  for (const name of ["disks", "temporary"]) {
    await cluster.seed(persistentVolumeClaimKind, { metadata: { name }, spec: claimSpec(name) });
  }
  await cluster.seed(persistentVolumeClaimKind, {
    metadata: {
      name: "local",
      annotations: { "volume.kubernetes.io/selected-node": "n1" },
    },
    spec: claimSpec("standard"),
  });
  await cluster.seed(resourceClaimTemplateKind, {
    metadata: { name: "gpu" },
    spec: { spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "g" } }] } } },
  });
  await cluster.seed(podKind, {
    metadata: { name: "user", labels: { app: "user" } },
    spec: {
      nodeName: "n2",
      containers,
      volumes: [
        { name: "d", persistentVolumeClaim: { claimName: "disks" } },
        { name: "e", ephemeral: { volumeClaimTemplate: { spec: claimSpec("none") } } },
      ],
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
    },
  });
}

async function makeTheRest(cluster: Cluster): Promise<void> {
  await cluster.seed(replicationControllerKind, {
    metadata: { name: "old", generation: 1 },
    spec: { replicas: 2, selector: { app: "old" }, template: template("old") },
  });
  await cluster.seed(serviceKind, {
    metadata: { name: "outside" },
    spec: { clusterIP: "None", ipFamilies: ["IPv4"] },
  });
  await cluster.seed(endpointsKind, {
    metadata: { name: "outside" },
    subsets: [{ addresses: [{ ip: "10.9.9.9" }], ports: [{ port: 80 }] }],
  });
  const rule = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
  await cluster.seed(clusterRoleKind, {
    metadata: { name: "part", labels: { part: "yes" } },
    rules: [rule],
  });
  await cluster.seed(clusterRoleKind, {
    metadata: { name: "all" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { part: "yes" } }] },
  });
  await cluster.client.create(jobKind, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "brief", namespace: "default" },
    spec: {
      ttlSecondsAfterFinished: 30,
      template: { spec: { restartPolicy: "Never", containers } },
    },
  } as never);
  await cluster.seed(serviceAccountKind, { metadata: { name: "robot" } });
  await cluster.seed(secretKind, {
    metadata: { name: "token", annotations: { "kubernetes.io/service-account.name": "robot" } },
    type: "kubernetes.io/service-account-token",
  });
  await cluster.seed(deploymentKind, {
    metadata: { name: "wide", generation: 1 },
    spec: { replicas: 4, selector: { matchLabels: { app: "wide" } }, template: template("wide") },
  });
  await cluster.seed(horizontalPodAutoscalerKind, {
    metadata: { name: "wide" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "wide" },
      maxReplicas: 2,
    },
  });
}

async function story(diesAt: number): Promise<{ end: unknown; writes: number }> {
  await using cluster = await startCluster();
  const first = new Mortal(cluster, diesAt, [collector], options());
  let current = first;
  let alive: readonly string[] = ["n1", "n2", "n3"];
  const goOn = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      await cluster.advance(5_000);
      if (current.isDead) {
        await current.end();
        current = new Mortal(cluster, Number.POSITIVE_INFINITY, [collector], options());
        await cluster.advance(5_000);
      }
      await beNodes(cluster, alive);
    }
  };
  await begin(cluster);
  await goOn(2);
  await makeClaims(cluster);
  await makeTheRest(cluster);
  await goOn(8);
  await cluster.client.delete(persistentVolumeClaimKind, key("temporary"));
  await cluster.client.delete(persistentVolumeClaimKind, key("disks")); // still in use
  alive = ["n1", "n3"];
  await goOn(16); // n2 falls silent: its pod is evicted
  await cluster.client.delete(nodeKind, { name: "n2" });
  await goOn(24); // and collected, as is what was only for it
  const end = summary(cluster);
  await current.end();
  return { end, writes: first.writes };
}

test("volumes, nodes, devices and the rest end the same, whichever write is the last", async () => {
  const { end: wanted, writes } = await story(Number.POSITIVE_INFINITY);
  const { volumes } = wanted as { volumes: readonly (readonly unknown[])[] };
  assert.deepEqual(
    volumes.map(([made, claim, phase]) => [made, claim, phase]),
    [
      ["disk", "disks", "Released"],
      ["k8ts.io/local-path", "local", "Bound"],
    ],
  );
  assert.ok(writes > 60, `${writes} writes`);
  for (let diesAt = 0; diesAt < writes; diesAt += 2) {
    const { end } = await story(diesAt);
    assert.deepEqual(end, wanted, `died at write ${diesAt}`);
  }
}, 240_000);
