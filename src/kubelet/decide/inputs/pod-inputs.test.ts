import assert from "node:assert/strict";
import { test } from "vitest";
import type { Container, Pod, PodSpec } from "#api/generated/core.v1.ts";
import { containerLimits, podCgroupLimits } from "../resources/cgroup-limits.ts";
import { statusPatch } from "../status-patch.ts";
import { expand } from "./expand.ts";
import { decidePodDns, parseResolvConf } from "./pod-dns.ts";

test("container command and env: $(VAR) is replaced, $$ escapes, unknown names stay", () => {
  const env: Readonly<Record<string, string>> = { A: "1", B: "$(A)" };
  const rows: [text: string, want: string][] = [
    ["$(A)", "1"],
    ["x$(A)y$(B)", "x1y$(A)"],
    ["$(C)", "$(C)"],
    ["$$(A)", "$(A)"],
    ["$$$(A)", "$1"],
    ["$A $", "$A $"],
    ["$(A", "$(A"],
  ];
  for (const [text, want] of rows) {
    assert.equal(
      expand(text, (name) => env[name]),
      want,
      text,
    );
  }
});

const host = parseResolvConf(
  "nameserver 1.1.1.1\nsearch corp.example. .\noptions ndots:2 rotate\n",
);
const cluster = { servers: ["10.96.0.10"], domain: "cluster.local" };

test("dnsPolicy: ClusterFirst, Default, None with dnsConfig, and ClusterFirst on the host network", () => {
  const settingsOf = (spec: Partial<PodSpec>): unknown =>
    decidePodDns(podOf(spec), host, cluster).settings;
  assert.deepEqual(settingsOf({ dnsPolicy: "ClusterFirst" }), {
    servers: ["10.96.0.10"],
    searches: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"],
    options: ["ndots:5"],
  });
  assert.deepEqual(settingsOf({ dnsPolicy: "Default" }), host);
  assert.deepEqual(settingsOf({ dnsPolicy: "ClusterFirst", hostNetwork: true }), host);
  const dnsConfig = { nameservers: ["9.9.9.9"], options: [{ name: "ndots", value: "1" }] };
  assert.deepEqual(settingsOf({ dnsPolicy: "None", dnsConfig }), {
    servers: ["9.9.9.9"],
    searches: [],
    options: ["ndots:1"],
  });
});

test("dnsConfig: more than three nameservers are cut with a warning", () => {
  const nameservers = ["1.0.0.1", "1.0.0.2", "1.0.0.3", "1.0.0.4"];
  const pod = podOf({ dnsPolicy: "None", dnsConfig: { nameservers } });
  const { settings, warnings } = decidePodDns(pod, host, cluster);
  assert.equal(settings.servers.length, 3);
  assert.match(warnings[0] ?? "", /^Nameserver limits were exceeded/);
});

test("resources: cpu shares, quota, memory limit and oom_score_adj by QoS class", () => {
  const of = (requests: object, limits: object): Container => ({
    name: "main",
    resources: { requests, limits } as Container["resources"],
  });
  const gibibyte = 1024 ** 3;
  const limitsOf = (container: Container): unknown =>
    containerLimits(podOf({ containers: [container] }), container, 4 * gibibyte);
  assert.deepEqual(limitsOf(of({}, {})), {
    ...{ cpuShares: 2, cpuPeriodUs: 100_000, oomScoreAdj: 1000 },
  });
  assert.deepEqual(limitsOf(of({ cpu: "500m", memory: "1Gi" }, {})), {
    ...{ cpuShares: 512, cpuPeriodUs: 100_000, oomScoreAdj: 750 },
  });
  const amounts = { cpu: "2", memory: "1Gi" };
  assert.deepEqual(limitsOf(of(amounts, amounts)), {
    ...{ cpuShares: 2048, cpuQuotaUs: 200_000, cpuPeriodUs: 100_000 },
    ...{ memoryLimitBytes: gibibyte, oomScoreAdj: -997 },
  });
  assert.deepEqual(podCgroupLimits(podOf({ containers: [of({}, {})] })), { cpuShares: 2 });
  const mixed = podOf({ containers: [of({ cpu: "1" }, { memory: "1Gi" }), of({ cpu: "1" }, {})] });
  assert.deepEqual(podCgroupLimits(mixed), { cpuShares: 2048 });
});

test("status patch: only what changed; removed fields are null, lists with keys are replaced", () => {
  const condition = (type: string, status: "True" | "False") => ({ type, status });
  const old = {
    phase: "Pending",
    reason: "x",
    podIPs: [{ ip: "10.0.0.1" }],
    conditions: [condition("Ready", "False"), condition("Initialized", "True")],
  };
  const next = {
    phase: "Running",
    podIPs: [{ ip: "10.0.0.2" }],
    conditions: [condition("Ready", "True"), condition("Initialized", "True")],
  };
  assert.deepEqual(statusPatch(old, next), {
    phase: "Running",
    reason: null,
    podIPs: [{ ip: "10.0.0.2" }, { $patch: "replace" }],
    conditions: [condition("Ready", "True")],
  });
  assert.equal(statusPatch(next, { ...next }), undefined);
});

function podOf(spec: Partial<PodSpec>): Pod {
  const metadata = { name: "pod", namespace: "default", uid: "uid" };
  return { metadata, spec: { containers: [], ...spec }, status: {} };
}
