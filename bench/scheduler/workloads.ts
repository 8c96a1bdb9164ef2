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
  readonly wanted?: number;
  node?(index: number): Draft<Node>;
  podBefore?(index: number): Draft<Pod["spec"]>;
  pod?(index: number): Draft<Pod["spec"]>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Devices on each node, and a ResourceClaimTemplate that every pod names. */
  readonly devicesPerNode?: number;
  /** The spec of pods that are created beside the measured ones, one every 200 ms. */
  churn?(): Draft<Pod["spec"]>;
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

const LOW_PRIORITY = { ...requests("900m"), terminationGracePeriodSeconds: 0 };
const HIGH_PRIORITY = { ...requests("3000m"), priority: 10 };

export const CLAIM_TEMPLATE = "test-claim-template";
const CLAIMING = {
  containers: [{ name: "pause", image: "pause", resources: { claims: [{ name: "resource" }] } }],
  resourceClaims: [{ name: "resource", resourceClaimTemplateName: CLAIM_TEMPLATE }],
};

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
    // Each node has room for one measured pod more, and for none that churns without preemption.
    name: "PreemptionAsync",
    ...{ nodes: 5_000, before: 20_000, measured: 5_000, wanted: 600 },
    podBefore: () => LOW_PRIORITY,
    churn: () => HIGH_PRIORITY,
  },
  {
    // Each measured pod removes three others.
    name: "PreemptionBasic",
    ...{ nodes: 1_000, before: 4_000, measured: 1_000 },
    podBefore: () => LOW_PRIORITY,
    pod: () => HIGH_PRIORITY,
  },
  {
    name: "Unschedulable",
    ...{ nodes: 5_000, before: 100, measured: 10_000, wanted: 800 },
    churn: () => ({ ...requests("9"), priority: 10 }),
  },
  {
    // The resourceclaim controller makes a claim for each pod. In the end all devices are in use.
    name: "SchedulingWithResourceClaimTemplate",
    ...{ nodes: 500, before: 2_500, measured: 2_500, wanted: 250, devicesPerNode: 10 },
    podBefore: () => CLAIMING,
    pod: () => CLAIMING,
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
