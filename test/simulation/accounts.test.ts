/**
 * Every controller under its own service account, with RBAC as on a real cluster: a story that gives
 * each of them something to write, and nothing that any of them asks for may be forbidden.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { secretKind } from "#api/kinds/core/v1/config/secret.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import { volumeAttributesClassKind } from "#api/kinds/storage/v1/volume-attributes-class.ts";
import type { Result } from "#api/meta/status.ts";
import { microTimeFromMs, timeFromMs } from "#api/meta/time.ts";
import { nodeRangesOf } from "#cmd/controller-manager/node-ranges.ts";
import { garbageCollector } from "#controllers/garbage-collector.ts";
import { builtInControllers, type ControllerOptions } from "#controllers/registry/controllers.ts";
import { issueCertificate } from "#pki/certificate.ts";
import { createRequest } from "#pki/certificate-request.ts";
import { newKey } from "#pki/key-pair.ts";
import type { AnyController, Controller, Resource } from "#runtime/controller.ts";
import { discoverResources } from "#runtime/discovery.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { type Manifest, WORLD } from "./accounts-world.ts";

const AT = "2030-01-01T00:00:00Z";
const LAST_MONTH = "2029-12-01T00:00:00Z";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const { publicKey, privateKey } = newKey();
const AUTHORITY = issueCertificate(
  {
    subject: { commonName: "kubernetes" },
    publicKey,
    usages: ["cert sign"],
    authority: true,
    notBeforeMs: Date.parse(AT),
    notAfterMs: Date.parse(AT) + DAY_MS,
  },
  { key: privateKey },
);

const OPTIONS: ControllerOptions = {
  rootCa: "CA",
  localVolumes: { directory: "/volumes" },
  hmac: (key, text) => createHmac("sha256", key).update(text).digest("base64url"),
  accountTokens: { rootCa: "CA", sign: () => "token" },
  legacyTokenUnusedMs: DAY_MS,
  certificateSigning: {
    lifetimeMaxMs: DAY_MS,
    signers: { "kubernetes.io/kube-apiserver-client-kubelet": () => AUTHORITY },
  },
  nodeHealth: { gracePeriodMs: 50_000, startupGracePeriodMs: 60_000 },
  nodeEviction: { rate: 0.1, secondaryRate: 0.01, largeZoneMin: 50, unhealthyShare: 0.55 },
  nodeIpam: nodeRangesOf({ clusterCidr: "10.244.0.0/16", serviceRange: "10.96.0.0/12" }),
};

test("every controller has something to write, and may write it", async () => {
  const live = new Set<string>();
  const controllers = builtInControllers(OPTIONS).map((controller) =>
    checkingStates(controller, live),
  );
  await using cluster = await startCluster({ at: AT, secured: true, controllers });
  const life = new AbortController();
  const collecting = await collectGarbage(cluster, life.signal);
  const seen = new Set<string>();
  const silent = new Set<string>();
  const go = async (ms: number): Promise<void> => {
    await beKubelet(cluster);
    await cluster.advance(ms);
    for (const { controller, done, events, because } of cluster.runtime.decisions.about()) {
      if (done > 0 || events.length > 0) seen.add(controller);
      if (because === undefined) silent.add(controller);
    }
  };

  for (const manifest of WORLD) unwrap(await create(cluster, manifest));
  await askForCertificates(cluster);
  await ageToken(cluster);
  for (let i = 0; i < 6; i++) await go(20_000);
  await changeThings(cluster);
  for (let i = 0; i < 6; i++) await go(60_000);
  await deleteThings(cluster);
  for (let i = 0; i < 6; i++) await go(120_000);
  await go(2 * HOUR_MS);

  assert.deepEqual([...new Set(cluster.refusals)], []);
  const names = [...controllers.map(({ name }) => name), "garbage-collector-controller"];
  assert.deepEqual(
    [...new Set(names)].filter((name) => !seen.has(name)),
    [],
  );
  assert.deepEqual([...silent], [], "every controller says by which rule it decides");
  assert.deepEqual([...live], [], "what decide reads is a value, without functions");
  assert.equal(cluster.get(namespaceKind, "shop"), undefined);
  life.abort();
  await collecting;
}, 60_000);

/** Notes controllers whose states have functions. */
function checkingStates(
  controller: AnyController,
  live: Set<string>,
): Controller<unknown, unknown> {
  const checked = controller as Controller<unknown, unknown>;
  const { decide } = checked;
  return {
    ...checked,
    decide: (state, nowMs) => {
      if (hasFunction(state, 3)) live.add(controller.name);
      return decide(state, nowMs);
    },
  };
}

function hasFunction(value: unknown, depth: number): boolean {
  if (typeof value === "function") return true;
  if (typeof value !== "object" || value === null || depth === 0) return false;
  return Object.values(value).some((member) => hasFunction(member, depth - 1));
}

async function collectGarbage(cluster: Cluster, signal: AbortSignal): Promise<Promise<void>[]> {
  const { resources } = await discoverResources(cluster.client);
  const collectable = resources.filter(
    ({ names, verbs }: Resource) =>
      names.plural !== "events" && ["delete", "list", "watch"].every((v) => verbs.includes(v)),
  );
  return [cluster.runtime.run([garbageCollector(new ResourceSet(collectable))], signal)];
}

function create(cluster: Cluster, manifest: Manifest): Promise<Result<KubeObject>> {
  const { apiVersion, kind: name, metadata } = manifest;
  const kind = builtInKinds.find((k) => k.apiVersion === apiVersion && k.names.kind === name);
  if (kind === undefined) throw new Error(`no kind ${apiVersion} ${name}`);
  const namespace = kind.scope === "Namespaced" ? { namespace: "default" } : {};
  return cluster.client.create(kind, { ...manifest, metadata: { ...namespace, ...metadata } });
}

function unwrap(result: Result<unknown>): void {
  if (!result.ok) assert.fail(result.status.message);
}

/** A node's bootstrap asks: who asks is the server's to say, so it is written straight to the store. */
async function askForCertificates(cluster: Cluster): Promise<void> {
  const subject = { commonName: "system:node:n1", organizations: ["system:nodes"] };
  const spec = {
    request: btoa(createRequest(subject, [], privateKey)),
    signerName: "kubernetes.io/kube-apiserver-client-kubelet",
    usages: ["digital signature", "client auth"],
    username: "system:admin",
    groups: ["system:masters"],
  } as const;
  await cluster.seed(certificateSigningRequestKind, { metadata: { name: "n1" }, spec });
  await cluster.seed(certificateSigningRequestKind, {
    metadata: { name: "forgotten" },
    spec: { ...spec, signerName: "example.com/unknown" },
  });
  await cluster.edit(certificateSigningRequestKind, "forgotten", ({ metadata }) => {
    metadata.creationTimestamp = LAST_MONTH;
  });
}

/** Makes the account's token look unused for long. */
async function ageToken(cluster: Cluster): Promise<void> {
  const tracking = "kube-apiserver-legacy-service-account-token-tracking";
  await cluster.edit(
    configMapKind,
    tracking,
    (map) => void (map.data = { since: LAST_MONTH.slice(0, 10) }),
    "kube-system",
  );
  await cluster.edit(secretKind, "robot-token", (secret) => {
    secret.metadata.creationTimestamp = LAST_MONTH;
  });
  await cluster.edit(serviceAccountKind, "robot", (account) => {
    account.secrets = [{ name: "robot-token" }];
  });
}

/** The node n1 lives and its pods run, those of Jobs to their end; "lost" sends no heartbeats. */
async function beKubelet(cluster: Cluster): Promise<void> {
  const nowMs = cluster.clock.nowMs();
  const now = timeFromMs(nowMs);
  const ready = { type: "Ready", status: "True", lastTransitionTime: AT, lastHeartbeatTime: now };
  await cluster.edit(nodeKind, "n1", (node) => {
    node.status.conditions = [{ ...ready, status: "True" }];
    node.metadata.annotations = {
      ...node.metadata.annotations,
      "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    };
  });
  const lease = { namespace: "kube-node-lease", name: "n1" };
  const renewTime = microTimeFromMs(nowMs);
  if (cluster.get(leaseKind, "n1", lease.namespace) === undefined) {
    await cluster.seed(leaseKind, { metadata: lease, spec: { holderIdentity: "n1", renewTime } });
  } else {
    await cluster.edit(
      leaseKind,
      "n1",
      (l) => void (l.spec.renewTime = renewTime),
      lease.namespace,
    );
  }
  for (const pod of cluster.list(podKind)) {
    const { name = "", namespace, labels, deletionTimestamp } = pod.metadata;
    if (nodeFor(pod) !== "n1") continue;
    if (deletionTimestamp !== undefined) {
      await cluster.client.delete(podKind, { namespace, name }, { gracePeriodSeconds: 0 });
    } else if (pod.status.phase === "Pending") {
      const ends = labels?.["job-name"] !== undefined;
      await cluster.edit(podKind, name, (draft) => {
        draft.spec.nodeName = "n1";
        draft.status.phase = ends ? "Succeeded" : "Running";
        draft.status.podIP = "10.0.0.1";
        draft.status.podIPs = [{ ip: "10.0.0.1" }];
        draft.status.conditions = [
          { type: "Ready", status: ends ? "False" : "True", lastTransitionTime: now },
        ];
      });
    }
  }
}

/** Daemons name their node in an affinity; the rest goes where there is life. */
function nodeFor({ spec }: Pod): string {
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return spec.nodeName || (terms?.[0]?.matchFields?.[0]?.values?.[0] ?? "n1");
}

async function changeThings(cluster: Cluster): Promise<void> {
  const patch = (spec: object) => ["merge", { spec }] as const;
  const key = (name: string) => ({ namespace: "default", name });
  const template = { spec: { containers: [{ name: "c", image: "two" }] } };
  const { client } = cluster;
  unwrap(await client.patch(deploymentKind, key("web"), ...patch({ template })));
  unwrap(await client.patch(statefulSetKind, key("db"), ...patch({ template })));
  const resources = { requests: { storage: "2Gi" } };
  unwrap(await client.patch(persistentVolumeClaimKind, key("files"), ...patch({ resources })));
  for (const { metadata } of cluster.list(volumeAttachmentKind)) {
    const status = { attached: true };
    await cluster.edit(volumeAttachmentKind, metadata.name ?? "", (a) => void (a.status = status));
  }
  const { uid = "" } = cluster.get(podKind, "with-broken-gpu")!.metadata;
  const device = { request: "r", driver: "gpu.example", pool: "n1", device: "gpu0" };
  await cluster.edit(resourceClaimKind, "broken-gpu", (claim) => {
    claim.status.allocation = { devices: { results: [device] } };
    claim.status.reservedFor = [{ resource: "pods", name: "with-broken-gpu", uid }];
  });
}

async function deleteThings(cluster: Cluster): Promise<void> {
  const { client } = cluster;
  const key = (name: string) => ({ namespace: "default", name });
  unwrap(await client.delete(podKind, key("with-disk")));
  unwrap(await client.delete(podKind, key("with-gpu")));
  unwrap(await client.delete(persistentVolumeClaimKind, key("files")));
  unwrap(await client.delete(persistentVolumeKind, { name: "disk" }));
  unwrap(await client.delete(volumeAttributesClassKind, { name: "fast" }));
  unwrap(await client.delete(deploymentKind, key("web"), { propagation: "Foreground" }));
  unwrap(await client.delete(statefulSetKind, key("db"), { propagation: "Orphan" }));
  unwrap(await client.delete(namespaceKind, { name: "shop" }));
}
