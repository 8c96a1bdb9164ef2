/** The workloads of upstream's scheduler_perf: its names, its nodes and its pods. */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { Draft } from "#testing/build.ts";

export interface Workload {
  readonly name: string;
  readonly nodes: number;
  /** Pods that are there before the measurement. */
  readonly before: number;
  readonly measured: number;
  /** Pods a second to reach. */
  readonly wanted: number;
  node?(index: number): Draft<Node>;
  podBefore?(index: number): Draft<Pod["spec"]>;
  pod?(index: number): Draft<Pod["spec"]>;
  readonly labels?: Readonly<Record<string, string>>;
  /** A ResourceClaim for each pod, and devices on the nodes. */
  readonly devicesPerNode?: number;
  /** Pods that fit nowhere, deleted and created anew all the time. */
  readonly unschedulable?: number;
}

const requests = (cpu: string, memory = "500Mi") => ({
  containers: [{ name: "pause", image: "pause", resources: { requests: { cpu, memory } } }],
});

const near = (color: string, topologyKey: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [
    { labelSelector: { matchLabels: { color } }, topologyKey },
  ],
});

const HOST = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";

export const WORKLOADS: readonly Workload[] = [
  { name: "SchedulingBasic", nodes: 5_000, before: 1_000, measured: 5_000, wanted: 1_000 },
  {
    name: "SchedulingPodAntiAffinity",
    ...{ nodes: 5_000, before: 1_000, measured: 2_000, wanted: 600 },
    labels: { color: "green" },
    podBefore: () => ({ ...requests("100m"), affinity: { podAntiAffinity: near("green", HOST) } }),
    pod: () => ({ ...requests("100m"), affinity: { podAntiAffinity: near("green", HOST) } }),
  },
  {
    name: "SchedulingPodAffinity",
    ...{ nodes: 5_000, before: 5_000, measured: 5_000, wanted: 600 },
    labels: { color: "blue" },
    node: () => ({ metadata: { labels: { [ZONE]: "zone1" } } }),
    pod: () => ({ ...requests("100m"), affinity: { podAffinity: near("blue", ZONE) } }),
  },
  {
    name: "TopologySpreading",
    ...{ nodes: 5_000, before: 5_000, measured: 5_000, wanted: 800 },
    labels: { color: "blue" },
    node: (index) => ({ metadata: { labels: { [ZONE]: `moon-${index % 3}` } } }),
    pod: () => ({
      ...requests("100m"),
      topologySpreadConstraints: [
        {
          maxSkew: 5,
          topologyKey: ZONE,
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { color: "blue" } },
        },
      ],
    }),
  },
  {
    name: "PreemptionAsync",
    ...{ nodes: 5_000, before: 20_000, measured: 5_000, wanted: 600 },
    podBefore: () => ({ ...requests("900m"), terminationGracePeriodSeconds: 0 }),
    pod: () => ({ ...requests("3000m"), priority: 10 }),
  },
  {
    name: "Unschedulable",
    ...{ nodes: 5_000, before: 0, measured: 5_000, wanted: 800, unschedulable: 200 },
  },
  {
    name: "SchedulingWithResourceClaims",
    ...{ nodes: 500, before: 0, measured: 2_500, wanted: 250, devicesPerNode: 10 },
  },
];

export function nodeOf({ node }: Workload, index: number): Draft<Node> {
  const own = node?.(index) ?? {};
  const name = `node-${index}`;
  const capacity = { cpu: "4", memory: "32Gi", pods: "110" };
  return {
    metadata: { name, labels: { [HOST]: name, ...own.metadata?.labels } },
    status: {
      capacity,
      allocatable: capacity,
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

export function podOf(
  { labels = {} }: Workload,
  name: string,
  spec: Draft<Pod["spec"]> = requests("100m"),
): Draft<Pod> {
  return { metadata: { name, namespace: "default", labels }, spec };
}

export const UNSCHEDULABLE = requests("9");
