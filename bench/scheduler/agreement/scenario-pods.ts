/** The pods of a scenario: those that run, and those that ask for a node. */
import type { Pod, PodAffinityTerm, Toleration } from "#api/generated/core.v1.ts";
import type { Draft } from "#testing/build.ts";
import type { Dice } from "../../load/dice.ts";
import { GPU, HOST, IMAGE, ZONE } from "./scenario-nodes.ts";

const APPS = ["web", "db", "cache", "batch"];
/** Pods of this class have an overhead. */
export const RUNTIME_CLASS = "heavy";
export const NAMESPACES = ["default", "team-a", "team-b"];
/** When running pods have started: among victims of one priority the last one goes first. */
const STARTS = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"];

export function runningPodOf(dice: Dice, index: number, nodeCount: number): Draft<Pod> {
  const labels = labelsOf(dice);
  return {
    metadata: { name: `r${index}`, namespace: dice.pick(NAMESPACES), labels },
    spec: {
      nodeName: `n${dice.integer(nodeCount)}`,
      terminationGracePeriodSeconds: 30,
      priority: dice.pick([-10, 0, 0, 5]),
      tolerations: [{ operator: "Exists" }],
      ...dice.maybe(0.25, () => ({ volumes: [inlineDisk(dice)] })),
      containers: [
        {
          ...{ name: "c", image: "x" },
          resources: {
            requests: {
              cpu: dice.pick(["100m", "500m", "1"]),
              memory: dice.pick(["128Mi", "512Mi", "1Gi"]),
              ...dice.maybe(0.1, () => ({ "ephemeral-storage": "5Gi" })),
            },
            ...dice.maybe(0.1, () => ({ limits: { [GPU]: "1" } })),
          },
          ...dice.maybe(0.1, () => ({ ports: [{ containerPort: 80, hostPort: 8080 }] })),
        },
      ],
      affinity: {
        podAntiAffinity: {
          ...dice.maybe(0.15, () => ({ [REQUIRED]: [termOf(dice)] })),
          ...dice.maybe(0.15, () => ({ [PREFERRED]: [weightedTermOf(dice)] })),
        },
        podAffinity: {
          ...dice.maybe(0.1, () => ({ [REQUIRED]: [termOf(dice)] })),
          ...dice.maybe(0.15, () => ({ [PREFERRED]: [weightedTermOf(dice)] })),
        },
      },
    },
    status: { phase: "Running", startTime: dice.pick(STARTS) },
  };
}

/** A pod that asks for a node, without its volumes and devices. */
export function pendingPodOf(dice: Dice): Draft<Pod> {
  const labels = labelsOf(dice);
  return {
    metadata: { namespace: dice.pick(NAMESPACES), labels },
    spec: {
      ...{ containers: [containerOf(dice)], affinity: affinityOf(dice) },
      ...{ tolerations: tolerationsOf(dice), topologySpreadConstraints: spreadOf(dice, labels) },
      ...dice.maybe(0.2, () => ({ nodeSelector: { disk: dice.pick(["ssd", "hdd", "nvme"]) } })),
      ...dice.maybe(0.3, () => ({ priority: dice.pick([1, 10]) })),
      ...dice.maybe(0.1, () => ({ preemptionPolicy: "Never" as const })),
      ...dice.maybe(0.12, () => ({ initContainers: [initContainerOf(dice)] })),
      ...dice.maybe(0.1, () => ({ runtimeClassName: RUNTIME_CLASS })),
      ...dice.maybe(0.15, () => ({ resources: { requests: { cpu: dice.pick(["2", "7"]) } } })),
    },
  };
}

/** An in-tree volume that the driver of EBS attaches. */
export function inlineDisk(dice: Dice) {
  const volumeID = `${dice.pick(["", "aws:///"])}vol-${dice.integer(8)}`;
  return { name: "data", awsElasticBlockStore: { volumeID } };
}

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

type Container = Draft<NonNullable<NonNullable<Pod["spec"]["containers"]>[number]>>;

function labelsOf(dice: Dice): Readonly<Record<string, string>> {
  return { app: dice.pick(APPS), version: dice.pick(["1", "2"]) };
}

function containerOf(dice: Dice): Container {
  const gpu = dice.chance(0.12) ? { [GPU]: dice.pick(["1", "2", "3"]) } : {};
  const huge = dice.chance(0.08) ? { "hugepages-2Mi": "32Mi" } : {};
  return {
    ...{ name: "c", image: dice.chance(0.2) ? IMAGE : "x" },
    resources: {
      requests: {
        ...dice.maybe(0.9, () => ({ cpu: dice.pick(["100m", "500m", "1", "3", "7"]) })),
        ...dice.maybe(0.9, () => ({ memory: dice.pick(["128Mi", "1Gi", "3Gi", "10Gi"]) })),
        ...dice.maybe(0.12, () => ({ "ephemeral-storage": dice.pick(["10Gi", "50Gi"]) })),
        ...gpu,
        ...huge,
      },
      limits: { ...gpu, ...huge },
    },
    ...dice.maybe(0.12, () => ({ ports: [{ containerPort: 80, hostPort: 8080 }] })),
  };
}

function initContainerOf(dice: Dice): Container {
  return {
    ...{ name: "i", image: "x", resources: { requests: { cpu: dice.pick(["2", "5"]) } } },
    ...dice.maybe(0.5, () => ({ restartPolicy: "Always" as const })),
  };
}

function tolerationsOf(dice: Dice): readonly Draft<Toleration>[] {
  if (dice.chance(0.6)) return [];
  return [
    dice.pick<Draft<Toleration>>([
      { key: "team", operator: "Equal", value: "a", effect: "NoSchedule" },
      { key: "team", operator: "Exists" },
      { operator: "Exists" },
      { key: "slow", operator: "Exists", effect: "PreferNoSchedule" },
      { key: "leaving", operator: "Exists", effect: "NoExecute" },
    ]),
  ];
}

function affinityOf(dice: Dice): Draft<NonNullable<Pod["spec"]["affinity"]>> {
  return {
    ...dice.maybe(0.3, () => ({ nodeAffinity: nodeAffinityOf(dice) })),
    ...dice.maybe(0.25, () => ({ podAffinity: podAffinityOf(dice) })),
    ...dice.maybe(0.25, () => ({ podAntiAffinity: podAffinityOf(dice) })),
  };
}

function nodeAffinityOf(dice: Dice) {
  const expression = () =>
    dice.pick([
      { key: "generation", operator: "Gt" as const, values: ["1"] },
      { key: "generation", operator: "Lt" as const, values: ["3"] },
      { key: "accelerated", operator: "Exists" as const },
      { key: "accelerated", operator: "DoesNotExist" as const },
      { key: "disk", operator: "NotIn" as const, values: ["hdd"] },
      { key: ZONE, operator: "In" as const, values: ["z0", "z9"] },
    ]);
  const preference = () => ({
    ...{ weight: 1 + dice.integer(100), preference: { matchExpressions: [expression()] } },
  });
  const byName = {
    matchFields: [{ key: "metadata.name", operator: "In" as const, values: ["n0"] }],
  };
  return {
    ...dice.maybe(0.6, () => ({
      [REQUIRED]: {
        nodeSelectorTerms: [
          { matchExpressions: [expression()] },
          ...(dice.chance(0.2) ? [byName] : []),
        ],
      },
    })),
    ...dice.maybe(0.6, () => ({ [PREFERRED]: [preference(), preference()] })),
  };
}

function podAffinityOf(dice: Dice) {
  return {
    ...dice.maybe(0.6, () => ({ [REQUIRED]: [termOf(dice)] })),
    ...dice.maybe(0.6, () => ({ [PREFERRED]: [weightedTermOf(dice), weightedTermOf(dice)] })),
  };
}

function weightedTermOf(dice: Dice) {
  return { weight: 1 + dice.integer(100), podAffinityTerm: termOf(dice) };
}

function termOf(dice: Dice): Draft<PodAffinityTerm> {
  const labelSelector = dice.chance(0.8)
    ? { matchLabels: { app: dice.pick(APPS) } }
    : { matchExpressions: [{ key: "app", operator: "NotIn", values: [dice.pick(APPS)] }] };
  return {
    ...{ labelSelector, topologyKey: dice.pick([HOST, ZONE]) },
    ...dice.maybe(0.25, () => ({ namespaceSelector: { matchLabels: { team: "a" } } })),
    ...dice.maybe(0.15, () => ({ namespaces: [dice.pick(NAMESPACES)] })),
    ...dice.maybe(0.15, () => ({ matchLabelKeys: ["version"] })),
  };
}

function spreadOf(dice: Dice, labels: Readonly<Record<string, string>>) {
  const constraint = (topologyKey: string) => {
    const whenUnsatisfiable = dice.pick(["DoNotSchedule", "ScheduleAnyway"] as const);
    return {
      ...{ maxSkew: 1 + dice.integer(2), topologyKey, whenUnsatisfiable },
      labelSelector: { matchLabels: { app: dice.chance(0.8) ? labels.app! : "web" } },
      ...dice.maybe(0.2, () => ({ nodeTaintsPolicy: "Honor" as const })),
      ...dice.maybe(0.15, () => ({ nodeAffinityPolicy: "Ignore" as const })),
      ...dice.maybe(0.2, () => ({ matchLabelKeys: ["version"] })),
      ...(whenUnsatisfiable === "DoNotSchedule" ? dice.maybe(0.25, () => ({ minDomains: 3 })) : {}),
    };
  };
  return [HOST, ZONE].filter(() => dice.chance(0.2)).map(constraint);
}
