/** What the filter plugins say of nodes, row by row. Volume and device plugins have files of their own. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { createQueuedPod } from "#scheduler/queue/queued-pod.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { build, type Draft } from "#testing/build.ts";
import { sharedDeviceState } from "./dynamic-resources/device-state.ts";
import { interPodAffinity } from "./inter-pod-affinity.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { nodeResourcesFit } from "./node-resources-fit.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { FITTING, type PluginRow, textOf, verdictsOf } from "./plugin-rows.testing.ts";
import { podTopologySpread } from "./pod-topology-spread.ts";
import { byPriority } from "./priority-sort.ts";
import { schedulingGates } from "./scheduling-gates.ts";
import { taintToleration } from "./taint-toleration.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";
const fit = nodeResourcesFit(sharedDeviceState());

const node = (name: string, more: Draft<Node> = {}): Draft<Node> => ({
  ...more,
  metadata: { name, labels: { [HOST]: name, ...more.metadata?.labels } },
  status: { allocatable: { cpu: "2", memory: "4Gi", pods: "10" }, ...more.status },
});
const inZone = (name: string, zone: string): Draft<Node> =>
  node(name, { metadata: { labels: { [ZONE]: zone } } });
const pod = (spec: Draft<Pod["spec"]>, labels: Record<string, string> = {}): Draft<Pod> => ({
  metadata: { name: "p", labels },
  spec,
});
const running = (name: string, nodeName: string, more: Draft<Pod> = {}): Draft<Pod> => ({
  ...more,
  metadata: { name, ...more.metadata },
  spec: { ...more.spec, nodeName },
});
const asking = (requests: Record<string, string>, more: Draft<Pod["spec"]> = {}) =>
  pod({ containers: [{ name: "c", resources: { requests } }], ...more });
const port = (hostPort: number, more: { hostIP?: string; protocol?: "TCP" | "UDP" } = {}) => ({
  containers: [{ name: "c", ports: [{ containerPort: 80, hostPort, ...more }] }],
});
const near = (topologyKey: string, app = "web", more: object = {}) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [
    { topologyKey, labelSelector: { matchLabels: { app } }, ...more },
  ],
});
const spread = (more: object = {}) => ({
  topologySpreadConstraints: [
    {
      ...{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "DoNotSchedule" as const },
      labelSelector: { matchLabels: { app: "web" } },
      ...more,
    },
  ],
});
const taint = (key: string, effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute") => ({
  spec: { taints: [{ key, effect }] },
});
const web = { metadata: { labels: { app: "web" } } };

const UNTOLERATED = "node(s) had untolerated taint(s)";
const NO_AFFINITY = "node(s) didn't match Pod's node affinity/selector";
const TAKEN = "node(s) didn't have free ports for the requested pod ports";
const SKEWED = "node(s) didn't match pod topology spread constraints";

type Row = PluginRow & { readonly name: string; readonly want: Record<string, string> };

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  NodeUnschedulable: [
    {
      ...{ name: "a cordoned node", plugin: nodeUnschedulable, pod: pod({}) },
      nodes: [node("a", { spec: { unschedulable: true } }), node("b")],
      want: { a: "node(s) were unschedulable", b: FITTING },
    },
    {
      ...{ name: "a cordoned node for a pod that tolerates its taint", plugin: nodeUnschedulable },
      pod: pod({ tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists" }] }),
      nodes: [node("a", { spec: { unschedulable: true } })],
      want: { a: FITTING },
    },
  ],
  NodeName: [
    {
      ...{ name: "a pod that names its node", plugin: nodeName, pod: pod({ nodeName: "b" }) },
      nodes: [node("a"), node("b")],
      want: { a: "node(s) didn't match the requested node name", b: FITTING },
    },
  ],
  TaintToleration: [
    {
      ...{ name: "taints by effect", plugin: taintToleration, pod: pod({}) },
      nodes: [
        node("a", taint("k", "NoSchedule")),
        node("b", taint("k", "NoExecute")),
        node("c", taint("k", "PreferNoSchedule")),
      ],
      want: { a: UNTOLERATED, b: UNTOLERATED, c: FITTING },
    },
    {
      ...{ name: "tolerations by effect and key", plugin: taintToleration },
      pod: pod({ tolerations: [{ key: "k", operator: "Exists", effect: "NoSchedule" }] }),
      nodes: [
        node("a", taint("k", "NoSchedule")),
        node("b", taint("k", "NoExecute")),
        node("c", taint("other", "NoSchedule")),
      ],
      want: { a: FITTING, b: UNTOLERATED, c: UNTOLERATED },
    },
  ],
  NodeAffinity: [
    {
      ...{ name: "nodeSelector", plugin: nodeAffinity },
      pod: pod({ nodeSelector: { [ZONE]: "z1" } }),
      nodes: [inZone("a", "z1"), inZone("b", "z2")],
      want: { a: FITTING, b: NO_AFFINITY },
    },
    {
      ...{ name: "required terms are alternatives", plugin: nodeAffinity },
      pod: pod({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: ZONE, operator: "In", values: ["z1"] }] },
                { matchExpressions: [{ key: HOST, operator: "In", values: ["c"] }] },
              ],
            },
          },
        },
      }),
      nodes: [inZone("a", "z1"), inZone("b", "z2"), inZone("c", "z2")],
      want: { a: FITTING, b: NO_AFFINITY, c: FITTING },
    },
    {
      ...{ name: "addedAffinity of the profile", plugin: nodeAffinity, pod: pod({}) },
      args: {
        addedAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: ZONE, operator: "In", values: ["z1"] }] },
            ],
          },
        },
      },
      nodes: [inZone("a", "z1"), inZone("b", "z2")],
      want: { a: FITTING, b: "node(s) didn't match scheduler-enforced node affinity" },
    },
  ],
  NodePorts: [
    {
      ...{ name: "a host port in use", plugin: nodePorts, pod: pod(port(80)) },
      nodes: [node("a"), node("b")],
      running: [running("r", "a", { spec: port(80) }), running("s", "b", { spec: port(81) })],
      want: { a: TAKEN, b: FITTING },
    },
    {
      ...{ name: "protocol and address count", plugin: nodePorts },
      pod: pod(port(80, { hostIP: "127.0.0.1" })),
      nodes: [node("a"), node("b"), node("c")],
      running: [
        running("r", "a", { spec: port(80, { protocol: "UDP" }) }),
        running("s", "b", { spec: port(80, { hostIP: "127.0.0.2" }) }),
        running("t", "c", { spec: port(80) }),
      ],
      want: { a: FITTING, b: FITTING, c: TAKEN },
    },
  ],
  NodeResourcesFit: [
    {
      ...{ name: "cpu, memory and pods", plugin: fit, pod: asking({ cpu: "1", memory: "3Gi" }) },
      nodes: [
        node("a"),
        node("b", { status: { allocatable: { cpu: "500m", memory: "2Gi", pods: "10" } } }),
        node("c", { status: { allocatable: { cpu: "2", memory: "4Gi", pods: "0" } } }),
      ],
      want: { a: FITTING, b: "Insufficient cpu, Insufficient memory", c: "Too many pods" },
    },
    {
      ...{ name: "what running pods request is taken", plugin: fit, pod: asking({ cpu: "1500m" }) },
      nodes: [node("a"), node("b")],
      running: [
        running("r", "a", {
          spec: { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] },
        }),
      ],
      want: { a: "Insufficient cpu", b: FITTING },
    },
    {
      ...{ name: "init containers count by the largest, sidecars and overhead in addition" },
      plugin: fit,
      pod: asking(
        { cpu: "500m" },
        {
          initContainers: [
            { name: "side", restartPolicy: "Always", resources: { requests: { cpu: "500m" } } },
            { name: "init", resources: { requests: { cpu: "1" } } },
          ],
          overhead: { cpu: "250m" },
        },
      ),
      nodes: [
        node("a", { status: { allocatable: { cpu: "1750m", memory: "1Gi", pods: "10" } } }),
        node("b", { status: { allocatable: { cpu: "1700m", memory: "1Gi", pods: "10" } } }),
      ],
      want: { a: FITTING, b: "Insufficient cpu" },
    },
    {
      ...{ name: "requests of the pod level replace those of containers", plugin: fit },
      pod: asking({ cpu: "500m" }, { resources: { requests: { cpu: "3" } } }),
      nodes: [node("a")],
      want: { a: "Insufficient cpu" },
    },
    {
      ...{ name: "extended resources", plugin: fit, pod: asking({ "example.com/x": "2" }) },
      nodes: [
        node("a", {
          status: { allocatable: { cpu: "2", memory: "1Gi", pods: "9", "example.com/x": "2" } },
        }),
        node("b"),
      ],
      want: { a: FITTING, b: "Insufficient example.com/x" },
    },
    {
      ...{ name: "ignoredResourceGroups", plugin: fit, pod: asking({ "example.com/x": "2" }) },
      args: { ignoredResourceGroups: ["example.com"] },
      nodes: [node("b")],
      want: { b: FITTING },
    },
  ],
  InterPodAffinity: [
    {
      ...{ name: "required affinity by zone", plugin: interPodAffinity },
      pod: pod({ affinity: { podAffinity: near(ZONE) } }),
      nodes: [inZone("a", "z1"), inZone("b", "z1"), inZone("c", "z2"), node("d")],
      running: [running("r", "a", web)],
      want: {
        ...{ a: FITTING, b: FITTING, c: "node(s) didn't match pod affinity rules" },
        d: "node(s) didn't match pod affinity rules",
      },
    },
    {
      ...{ name: "the first pod of a group that selects itself", plugin: interPodAffinity },
      pod: pod({ affinity: { podAffinity: near(ZONE) } }, { app: "web" }),
      nodes: [inZone("a", "z1")],
      want: { a: FITTING },
    },
    {
      ...{ name: "required anti-affinity, and that of running pods", plugin: interPodAffinity },
      pod: pod({ affinity: { podAntiAffinity: near(HOST) } }, { app: "db" }),
      nodes: [inZone("a", "z1"), inZone("b", "z2"), inZone("c", "z3")],
      running: [
        running("r", "a", web),
        running("s", "b", { spec: { affinity: { podAntiAffinity: near(ZONE, "db") } } }),
      ],
      want: {
        a: "node(s) didn't match pod anti-affinity rules",
        b: "node(s) didn't satisfy existing pods anti-affinity rules",
        c: FITTING,
      },
    },
    {
      ...{ name: "namespaceSelector", plugin: interPodAffinity },
      namespaces: { default: {}, other: { team: "a" } },
      pod: pod({
        affinity: {
          podAntiAffinity: near(HOST, "web", { namespaceSelector: { matchLabels: { team: "a" } } }),
        },
      }),
      nodes: [node("a"), node("b")],
      running: [
        running("r", "a", web),
        running("s", "b", { metadata: { namespace: "other", labels: { app: "web" } } }),
      ],
      want: { a: FITTING, b: "node(s) didn't match pod anti-affinity rules" },
    },
  ],
  PodTopologySpread: [
    {
      ...{ name: "maxSkew", plugin: podTopologySpread, pod: pod(spread(), { app: "web" }) },
      nodes: [inZone("a", "z1"), inZone("b", "z2"), node("c")],
      running: [running("r", "a", web)],
      want: { a: SKEWED, b: FITTING, c: `${SKEWED} (missing required label)` },
    },
    {
      ...{ name: "minDomains", plugin: podTopologySpread },
      pod: pod(spread({ minDomains: 3 }), { app: "web" }),
      nodes: [inZone("a", "z1"), inZone("b", "z2")],
      running: [running("r", "a", web), running("s", "b", web)],
      want: { a: SKEWED, b: SKEWED },
    },
    {
      ...{ name: "nodeTaintsPolicy Honor leaves tainted nodes out", plugin: podTopologySpread },
      pod: pod(spread({ nodeTaintsPolicy: "Honor" }), { app: "web" }),
      nodes: [
        inZone("a", "z1"),
        { ...inZone("b", "z2"), spec: { taints: [{ key: "k", effect: "NoSchedule" }] } },
      ],
      running: [running("r", "a", web)],
      want: { a: FITTING, b: FITTING },
    },
    {
      ...{ name: "matchLabelKeys count the own revision only", plugin: podTopologySpread },
      pod: pod(spread({ matchLabelKeys: ["rev"] }), { app: "web", rev: "2" }),
      nodes: [inZone("a", "z1"), inZone("b", "z2")],
      running: [running("r", "a", { metadata: { labels: { app: "web", rev: "1" } } })],
      want: { a: FITTING, b: FITTING },
    },
  ],
};

for (const [plugin, rows] of Object.entries(ROWS)) {
  describe(plugin, () => {
    for (const { name, want, ...row } of rows) {
      test(name, () => assert.deepEqual(verdictsOf(row), want));
    }
  });
}

test("SchedulingGates: a gated pod names its gates", () => {
  const plugin = schedulingGates.create(undefined, {} as never);
  const gated = build(podKind, {
    metadata: { name: "p" },
    spec: { schedulingGates: [{ name: "a" }, { name: "b" }] },
  });
  assert.equal(
    textOf(plugin.preEnqueue!(new PodInfo(gated))),
    "waiting for scheduling gates: [a b]",
  );
});

test("PrioritySort: the higher priority first, then the one that has waited longer", () => {
  const queued = (name: string, priority: number, sinceMs: number) =>
    createQueuedPod(
      new PodInfo(build(podKind, { metadata: { name }, spec: { priority } })),
      sinceMs,
      0,
    );
  const pods = [queued("late", 1, 2), queued("early", 1, 1), queued("important", 5, 9)];
  assert.deepEqual(
    pods.sort(byPriority).map(({ info }) => info.name),
    ["important", "early", "late"],
  );
});
