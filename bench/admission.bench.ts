/**
 * What admission policies add to a create. Creates are dry runs of the same ConfigMap in one process, so
 * that neither sockets nor disks are in the figures; clusters with and without policies take turns.
 */
import { validatingAdmissionPolicyBindingKind } from "#api/kinds/admissionregistration/v1/policy-bindings.ts";
import { validatingAdmissionPolicyKind } from "#api/kinds/admissionregistration/v1/validating-admission-policy.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "admission";

const ONE_POLICY_US = 60;
const TEN_POLICIES_US = 400;
/** Many short windows, so that each cluster finds a moment in which the machine is quiet. */
const ROUNDS = 40;

/** What a typical policy asks: labels, names, and who it is. */
const PASSING =
  "object.metadata.name.startsWith('c') && (!has(object.metadata.labels) || object.metadata.labels.all(k, size(k) < 64)) && request.userInfo.username != ''";
const DENYING = "object.metadata.name.startsWith('x') || object.data.size == 'large'";

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  const windows = quick ? 40 : 150;
  progress("starting clusters");
  await using none = await clusterWith(0, PASSING);
  await using one = await clusterWith(1, PASSING);
  await using ten = await clusterWith(10, PASSING);
  await using deny = await clusterWith(1, DENYING);
  const clusters = { none, one, ten, deny };
  const best = { none: Infinity, one: Infinity, ten: Infinity, deny: Infinity };
  progress("creating");
  for (let window = 0; window < windows; window++) {
    for (const key of ["none", "one", "ten", "deny"] as const) {
      const us = await microseconds(clusters[key], ROUNDS, key === "deny");
      best[key] = Math.min(best[key], us);
    }
  }
  yield { name: "create (dry run) without policies", value: best.none, unit: "µs" };
  yield more("a policy that denies adds", best.deny - best.none, ONE_POLICY_US);
  yield more("a policy that admits adds", best.one - best.none, ONE_POLICY_US);
  yield more("ten policies that admit add", best.ten - best.none, TEN_POLICIES_US);
}

function more(name: string, value: number, limit: number): Row {
  return { name, value, unit: "µs", limit, limitName: "wanted", target: 1 };
}

async function microseconds(cluster: Cluster, rounds: number, denied: boolean): Promise<number> {
  const startMs = performance.now();
  for (let i = 0; i < rounds; i++) {
    const result = await cluster.client.create(configMapKind, CONFIG_MAP, { dryRun: true });
    if (result.ok === denied) throw new Error(result.ok ? "was not denied" : result.status.message);
  }
  return ((performance.now() - startMs) / rounds) * 1000;
}

const CONFIG_MAP = {
  metadata: { name: "c", namespace: "default", labels: { app: "shop", tier: "front" } },
  data: { size: "small", color: "blue" },
};

async function clusterWith(count: number, expression: string): Promise<Cluster> {
  const cluster = await startCluster({ secured: true });
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
  ];
  for (let i = 0; i < count; i++) {
    const metadata = { name: `policy-${i}` };
    const spec = { matchConstraints: { resourceRules }, validations: [{ expression }] };
    const created = await cluster.client.create(validatingAdmissionPolicyKind, {
      metadata,
      spec,
      status: {},
    });
    if (!created.ok) throw new Error(created.status.message);
    const bound = await cluster.client.create(validatingAdmissionPolicyBindingKind, {
      metadata,
      spec: { policyName: metadata.name, validationActions: ["Deny"] },
    });
    if (!bound.ok) throw new Error(bound.status.message);
  }
  return cluster;
}
