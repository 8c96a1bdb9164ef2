/** The nodes of a scenario, and what there is once for the cluster. */
import type { Node, Taint } from "#api/generated/core.v1.ts";
import type { Draft } from "#testing/build.ts";
import type { Dice } from "../../load/dice.ts";

export const HOST = "kubernetes.io/hostname";
export const ZONE = "topology.kubernetes.io/zone";
/** The zone as the driver of EBS volumes names it. */
const EBS_ZONE = "topology.ebs.csi.aws.com/zone";
export const GPU = "example.com/gpu";
export const IMAGE = "registry.example.com/large:1";

export function nodesOf(dice: Dice): readonly Draft<Node>[] {
  const zones = 2 + dice.integer(2);
  return Array.from({ length: 4 + dice.integer(10) }, (_, index) => nodeOf(dice, index, zones));
}

function nodeOf(dice: Dice, index: number, zones: number): Draft<Node> {
  const name = `n${index}`;
  const capacity = {
    cpu: dice.pick(["2", "4", "8"]),
    memory: dice.pick(["4Gi", "8Gi", "16Gi"]),
    pods: dice.chance(0.12) ? "3" : "110",
    "ephemeral-storage": dice.pick(["20Gi", "100Gi"]),
    ...dice.maybe(0.35, () => ({ [GPU]: dice.pick(["1", "2"]) })),
    ...dice.maybe(0.3, () => ({ "hugepages-2Mi": "64Mi" })),
  };
  return {
    metadata: {
      name,
      labels: {
        [HOST]: name,
        ...dice.maybe(0.9, () => ({ [ZONE]: `z${index % zones}` })),
        ...dice.maybe(0.6, () => ({ [EBS_ZONE]: `z${index % zones}` })),
        "topology.kubernetes.io/region": "r",
        disk: dice.pick(["ssd", "hdd"]),
        generation: String(dice.integer(4)),
        ...dice.maybe(0.3, () => ({ accelerated: "yes" })),
      },
    },
    spec: {
      ...dice.maybe(0.1, () => ({ unschedulable: true })),
      taints: taintsOf(dice),
    },
    status: {
      capacity,
      allocatable: capacity,
      images: dice.chance(0.3) ? [{ names: [IMAGE], sizeBytes: 600_000_000 }] : [],
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

function taintsOf(dice: Dice): readonly Draft<Taint>[] {
  const possible: readonly (readonly [probability: number, taint: Draft<Taint>])[] = [
    [0.2, { key: "team", value: dice.pick(["a", "b"]), effect: "NoSchedule" }],
    [0.2, { key: "slow", value: "disk", effect: "PreferNoSchedule" }],
    [0.15, { key: "old", value: "", effect: "PreferNoSchedule" }],
    [0.08, { key: "leaving", value: "soon", effect: "NoExecute" }],
  ];
  return possible.filter(([probability]) => dice.chance(probability)).map(([, taint]) => taint);
}
