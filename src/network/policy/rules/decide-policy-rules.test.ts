import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import type { NetworkPolicy } from "#api/generated/networking.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build, type Draft } from "#testing/build.ts";
import { decidePolicyRules } from "./decide-policy-rules.ts";

const NAMESPACES = new Map([
  ["x", { "kubernetes.io/metadata.name": "x", team: "red" }],
  ["y", { "kubernetes.io/metadata.name": "y", team: "blue" }],
]);

function pod(id: string, ip: string, more: Pick<Draft<Pod>, "spec" | "status"> = {}): Pod {
  const [namespace = "", name = ""] = id.split("/");
  return build(podKind, {
    metadata: { namespace, name, labels: { pod: name } },
    spec: {
      nodeName: "here",
      containers: [{ name: "c", ports: [{ name: "http", containerPort: 8080 }] }],
      ...more.spec,
    },
    status: { phase: "Running", podIPs: [{ ip }], ...more.status },
  });
}

const PODS = [
  pod("x/a", "10.0.0.1"),
  pod("x/b", "10.0.0.2", { spec: { nodeName: "there" } }),
  pod("y/a", "10.0.0.3", { status: { podIPs: [{ ip: "10.0.0.3" }, { ip: "fd00:0::3" }] } }),
  pod("y/host", "192.168.0.1", { spec: { hostNetwork: true } }),
  pod("y/over", "10.0.0.9", { status: { phase: "Succeeded" } }),
];

function policy(name: string, spec: object, namespace = "x"): NetworkPolicy {
  return { metadata: { namespace, name }, spec: { podSelector: {}, ...spec } } as NetworkPolicy;
}

function decide(...policies: NetworkPolicy[]) {
  return decidePolicyRules({ policies, pods: PODS, namespaces: NAMESPACES, nodeName: "here" });
}

/** Addresses of the first peer of the first ingress rule of the policy x/p. */
function peersOf(from: object): readonly string[] | undefined {
  const rules = decide(policy("p", { policyTypes: ["Ingress"], ingress: [{ from: [from] }] }));
  const peers = rules.policies.get("x/p")?.ingress[0]?.peers;
  const [peer] = peers === "all" || peers === undefined ? [] : peers;
  return peer?.type === "pods" ? rules.peers.get(peer.key) : undefined;
}

describe("NetworkPolicy: which pods are isolated", () => {
  test("pods of this node that podSelector selects, in the directions of policyTypes", () => {
    const { isolated } = decide(
      policy("in", { policyTypes: ["Ingress"] }),
      policy("out", { policyTypes: ["Egress"], podSelector: { matchLabels: { pod: "a" } } }),
    );
    assert.deepEqual(
      [...isolated],
      [["10.0.0.1", { ingress: ["x/in"], egress: ["x/out"] }]], // x/b is on another node
    );
  });

  test("without policyTypes: Ingress, and Egress if there are egress rules", () => {
    const isolation = (spec: object) => decide(policy("p", spec)).isolated.get("10.0.0.1");
    assert.deepEqual(isolation({}), { ingress: ["x/p"], egress: undefined });
    assert.deepEqual(isolation({ egress: [{}] }), { ingress: ["x/p"], egress: ["x/p"] });
  });

  test("hostNetwork pods and finished pods are not", () => {
    const { isolated } = decide(policy("p", {}, "y"));
    assert.deepEqual([...isolated.keys()], ["10.0.0.3", "fd00::3"]);
  });

  test("policies that select no pod of this node cost nothing", () => {
    const { policies, peers } = decide(
      policy("p", {
        podSelector: { matchLabels: { pod: "b" } },
        ingress: [{ from: [{ podSelector: {} }] }],
      }),
    );
    assert.deepEqual([policies.size, peers.size], [0, 0]);
  });
});

describe("NetworkPolicy: peers", () => {
  const rows: { name: string; from: object; want: string[] }[] = [
    {
      name: "podSelector: pods of the policy's namespace",
      from: { podSelector: {} },
      want: ["10.0.0.1", "10.0.0.2"],
    },
    {
      name: "namespaceSelector: all pods of the namespaces",
      from: { namespaceSelector: { matchLabels: { team: "blue" } } },
      want: ["10.0.0.3", "fd00::3"],
    },
    {
      name: "both: pods of the namespaces that carry the labels",
      from: {
        namespaceSelector: { matchExpressions: [{ key: "team", operator: "Exists" }] },
        podSelector: { matchExpressions: [{ key: "pod", operator: "NotIn", values: ["a"] }] },
      },
      want: ["10.0.0.2"],
    },
    {
      name: "an empty namespaceSelector: every namespace",
      from: { namespaceSelector: {}, podSelector: { matchLabels: { pod: "a" } } },
      want: ["10.0.0.1", "10.0.0.3", "fd00::3"],
    },
  ];
  for (const { name, from, want } of rows) {
    test(name, () => assert.deepEqual(peersOf(from), want));
  }

  test("ipBlock: canonical, with outermost exceptions", () => {
    const ipBlock = { cidr: "10.0.0.7/8", except: ["10.1.0.0/16", "10.1.2.0/24"] };
    const { policies } = decide(policy("p", { ingress: [{ from: [{ ipBlock }] }] }));
    assert.deepEqual(policies.get("x/p")?.ingress[0]?.peers, [
      { type: "block", cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] },
    ]);
  });

  test("no peers and no ports: everything", () => {
    const { policies } = decide(policy("p", { ingress: [{}] }));
    assert.deepEqual(policies.get("x/p")?.ingress, [{ peers: "all", ports: "all" }]);
  });
});

test("NetworkPolicy: ports by number, endPort, name and protocol", () => {
  const ports = [
    { port: 80 },
    { protocol: "UDP", port: 100, endPort: 110 },
    { protocol: "SCTP" },
    { port: "http" },
  ];
  const { policies, namedPorts } = decide(policy("p", { ingress: [{ ports }] }));
  assert.deepEqual(policies.get("x/p")?.ingress[0]?.ports, [
    { type: "range", protocol: "tcp", from: 80, to: 80 },
    { type: "range", protocol: "udp", from: 100, to: 110 },
    { type: "any", protocol: "sctp" },
    { type: "named", protocol: "tcp", key: "tcp http" },
  ]);
  assert.deepEqual(
    namedPorts.get("tcp http")?.map(({ ip, port }) => `${ip}:${port}`),
    ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080", "fd00::3:8080"],
  );
});
