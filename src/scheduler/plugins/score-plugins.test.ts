/** How the score plugins score nodes, row by row. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { build, type Draft } from "#testing/build.ts";
import { sharedDeviceState } from "./dynamic-resources/device-state.ts";
import { imageLocality } from "./image-locality.ts";
import { interPodAffinity } from "./inter-pod-affinity.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeResourcesBalancedAllocation } from "./node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./node-resources-fit.ts";
import { type PluginRow, scoresOf } from "./plugin-rows.testing.ts";
import { podTopologySpread } from "./pod-topology-spread.ts";
import { taintToleration } from "./taint-toleration.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";
const fit = nodeResourcesFit(sharedDeviceState());
const balanced = nodeResourcesBalancedAllocation(sharedDeviceState());

const node = (name: string, cpu = "4", memory = "4Gi", more: Draft<Node> = {}): Draft<Node> => ({
  ...more,
  metadata: { name, labels: { [HOST]: name, [ZONE]: `z-${name}` } },
  status: { ...more.status, allocatable: { cpu, memory, pods: "10" } },
});
const asking = (cpu: string, memory: string): Draft<Pod> => ({
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", resources: { requests: { cpu, memory } } }] },
});
const on = (name: string, nodeName: string, more: Draft<Pod> = {}): Draft<Pod> => ({
  ...more,
  metadata: { name, ...more.metadata },
  spec: { ...more.spec, nodeName },
});
const web = { metadata: { labels: { app: "web" } } };
const taints = (count: number): Draft<Node> => ({
  spec: {
    taints: Array.from({ length: count }, (_, index) => ({
      key: `k${index}`,
      effect: "PreferNoSchedule" as const,
    })),
  },
});
const image = (name: string, sizeBytes: number): Draft<Node> => ({
  status: { images: [{ names: [name], sizeBytes }] },
});
const strategy = (type: string, more: object = {}) => ({
  scoringStrategy: { type, resources: [{ name: "cpu", weight: 1 }], ...more },
});
const ratio = {
  requestedToCapacityRatio: {
    shape: [
      { utilization: 0, score: 10 },
      { utilization: 100, score: 0 },
    ],
  },
};

type Row = PluginRow & { readonly name: string; readonly want: Record<string, number> };

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  NodeResourcesFit: [
    {
      ...{ name: "LeastAllocated: what is left, cpu and memory alike", plugin: fit },
      pod: asking("1", "1Gi"),
      nodes: [node("a"), node("b", "2"), node("c", "8", "8Gi")],
      want: { a: 75, b: 62, c: 87 },
    },
    {
      ...{ name: "pods without requests count as 100m", plugin: fit },
      args: strategy("LeastAllocated"),
      pod: { metadata: { name: "p" }, spec: { containers: [{ name: "c" }] } },
      nodes: [node("a", "1"), node("b", "1")],
      running: [on("r", "b", { spec: { containers: [{ name: "c" }] } })],
      want: { a: 90, b: 80 },
    },
    {
      ...{ name: "MostAllocated", plugin: fit, args: strategy("MostAllocated") },
      pod: asking("1", "1Gi"),
      nodes: [node("a"), node("b", "2")],
      want: { a: 25, b: 50 },
    },
    {
      ...{ name: "RequestedToCapacityRatio", plugin: fit },
      args: strategy("RequestedToCapacityRatio", ratio),
      pod: asking("1", "1Gi"),
      nodes: [node("a"), node("b", "2")],
      want: { a: 75, b: 50 },
    },
  ],
  NodeResourcesBalancedAllocation: [
    {
      ...{ name: "a node that the pod balances", plugin: balanced, pod: asking("2", "0") },
      nodes: [node("a"), node("b")],
      running: [
        on("r", "b", {
          spec: { containers: [{ name: "c", resources: { requests: { memory: "2Gi" } } }] },
        }),
      ],
      want: { a: 62, b: 87 },
    },
    {
      ...{ name: "nothing to say of pods without requests", plugin: balanced },
      pod: { metadata: { name: "p" }, spec: { containers: [{ name: "c" }] } },
      nodes: [node("a")],
      want: {},
    },
  ],
  TaintToleration: [
    {
      ...{ name: "fewer soft taints are better", plugin: taintToleration, pod: asking("1", "1") },
      nodes: [node("a"), node("b", "4", "4Gi", taints(1)), node("c", "4", "4Gi", taints(2))],
      want: { a: 100, b: 50, c: 0 },
    },
  ],
  NodeAffinity: [
    {
      ...{ name: "weights of preferred terms", plugin: nodeAffinity },
      pod: {
        metadata: { name: "p" },
        spec: {
          affinity: {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                [HOST, "a", 80] as const,
                [HOST, "b", 20] as const,
              ].map(([key, value, weight]) => ({
                weight,
                preference: {
                  matchExpressions: [{ key, operator: "In" as const, values: [value] }],
                },
              })),
            },
          },
        },
      },
      nodes: [node("a"), node("b"), node("c")],
      want: { a: 100, b: 25, c: 0 },
    },
  ],
  ImageLocality: [
    {
      ...{ name: "large images that are there already", plugin: imageLocality },
      pod: { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "x:1" }] } },
      nodes: [node("a", "4", "4Gi", image("x:1", 1_048_576_000)), node("b")],
      want: { a: 48, b: 0 },
    },
  ],
  InterPodAffinity: [
    {
      ...{ name: "preferred affinity and anti-affinity", plugin: interPodAffinity },
      pod: {
        metadata: { name: "p" },
        spec: {
          affinity: {
            podAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 10,
                  podAffinityTerm: {
                    topologyKey: HOST,
                    labelSelector: { matchLabels: { app: "web" } },
                  },
                },
              ],
            },
            podAntiAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                {
                  weight: 10,
                  podAffinityTerm: {
                    topologyKey: HOST,
                    labelSelector: { matchLabels: { app: "db" } },
                  },
                },
              ],
            },
          },
        },
      },
      nodes: [node("a"), node("b"), node("c")],
      running: [on("r", "a", web), on("s", "c", { metadata: { labels: { app: "db" } } })],
      want: { a: 100, b: 50, c: 0 },
    },
  ],
  PodTopologySpread: [
    {
      ...{ name: "ScheduleAnyway", plugin: podTopologySpread },
      pod: {
        metadata: { name: "p", labels: { app: "web" } },
        spec: {
          topologySpreadConstraints: [
            {
              ...{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "ScheduleAnyway" },
              labelSelector: { matchLabels: { app: "web" } },
            },
          ],
        },
      },
      nodes: [node("a"), node("b")],
      running: [on("r", "a", web)],
      want: { a: 0, b: 100 },
    },
    {
      ...{ name: "pods of a Service are spread by default", plugin: podTopologySpread },
      services: [
        build(serviceKind, { metadata: { name: "web" }, spec: { selector: { app: "web" } } }),
      ],
      pod: { metadata: { name: "p", labels: { app: "web" } }, spec: {} },
      nodes: [node("a"), node("b")],
      running: [on("r", "a", web), on("s", "a", web)],
      want: { a: 50, b: 100 },
    },
  ],
};

for (const [plugin, rows] of Object.entries(ROWS)) {
  describe(`${plugin}: scores`, () => {
    for (const { name, want, ...row } of rows) {
      test(name, () => assert.deepEqual(scoresOf(row), want));
    }
  });
}
