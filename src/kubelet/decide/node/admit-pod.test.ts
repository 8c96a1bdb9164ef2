import assert from "node:assert/strict";
import { test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { decideAdmission } from "./admit-pod.ts";

const node = (taints: Node["spec"]["taints"] = []): Node => ({
  metadata: { name: "n1", labels: { zone: "a" } },
  spec: { taints },
  status: {} as Node["status"],
});
const pod = (spec: Partial<Pod["spec"]>, labels: Record<string, string> = {}): Pod => ({
  metadata: { name: "pod", uid: "pod", labels },
  spec: { containers: [], ...spec },
  status: {},
});
const using = (cpu: string): Partial<Pod["spec"]> => ({
  containers: [{ name: "main", image: "x", resources: { requests: { cpu } } }],
});
const taint = { key: "k", effect: "NoExecute" as const };
const affinity = (value: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: "zone", operator: "In" as const, values: [value] }] },
      ],
    },
  },
});

const rows: { name: string; pod: Pod; node?: Node; others?: Pod[]; want: string }[] = [
  { name: "fits", pod: pod(using("500m")), want: "admitted" },
  {
    name: "OutOfcpu",
    pod: pod(using("600m")),
    others: [pod(using("500m"))],
    want: "OutOfcpu: Node didn't have enough resource: cpu, requested: 600, used: 500, capacity: 1000",
  },
  {
    name: "required node affinity",
    pod: pod({ affinity: affinity("b") }),
    want: "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  },
  { name: "node affinity that matches", pod: pod({ affinity: affinity("a") }), want: "admitted" },
  {
    name: "NoExecute taint",
    pod: pod({}),
    node: node([taint]),
    want: "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  },
  {
    name: "NoExecute taint that is tolerated",
    pod: pod({ tolerations: [{ operator: "Exists" }] }),
    node: node([taint]),
    want: "admitted",
  },
  {
    name: "unsafe sysctl",
    pod: pod({ securityContext: { sysctls: [{ name: "kernel/msgmax", value: "1" }] } }),
    want: 'SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted',
  },
  {
    name: "safe sysctl with hostNetwork",
    pod: pod({
      hostNetwork: true,
      securityContext: { sysctls: [{ name: "net.ipv4.tcp_syncookies", value: "1" }] },
    }),
    want: 'SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
  },
  {
    name: "allowedUnsafeSysctls",
    pod: pod({ securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } }),
    want: "admitted",
  },
  {
    name: "supplementalGroupsPolicy Strict",
    pod: pod({ securityContext: { supplementalGroupsPolicy: "Strict" } }),
    want: "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node",
  },
];

for (const { name, pod: given, node: where = node(), others = [], want } of rows) {
  test(`admission of a pod: ${name}`, () => {
    const verdict = decideAdmission({
      ...{ pod: given, node: where, others, allocatable: { cpu: "1", pods: "10" } },
      pressures: { memory: false, disk: false, pid: false },
      allowedUnsafeSysctls: ["net.core.*"],
    });
    const got = verdict.admitted ? "admitted" : `${verdict.reason}: ${verdict.message}`;
    assert.equal(got, want);
  });
}

test("admission of a critical pod: a host port that is taken is named before missing resources", () => {
  const ports = [{ containerPort: 1, hostPort: 1 }];
  const containers = [{ name: "main", image: "x", ports, resources: { requests: { cpu: "2" } } }];
  const verdict = decideAdmission({
    ...{ pod: pod({ containers, priority: 2_000_000_000 }), node: node() },
    ...{ others: [pod({ containers })], allocatable: { cpu: "1", pods: "10" } },
    pressures: { memory: false, disk: false, pid: false },
    allowedUnsafeSysctls: [],
  });
  assert.equal(!verdict.admitted && verdict.reason, "NodePorts");
});
