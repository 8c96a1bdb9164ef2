/** Where the pods of a DaemonSet belong, and what they are given to be there. */

import type { DaemonSet } from "#api/generated/apps.v1.ts";
import type {
  Node,
  NodeSelector,
  Pod,
  PodSpec,
  Taint,
  Toleration,
} from "#api/generated/core.v1.ts";
import { daemonSetKind } from "#api/kinds/apps/v1/daemon-set.ts";
import { wantsNode } from "#api/kinds/core/v1/node/node-selection.ts";
import { tolerates } from "#api/kinds/core/v1/node/tolerates.ts";
import { controllerReference } from "../shared/ownership.ts";
import { podFromTemplate } from "../shared/pods.ts";

export const REVISION_LABEL = "controller-revision-hash";
const GENERATION_LABEL = "pod-template-generation";
const GENERATION = "deprecated.daemonset.template.generation";

/** Whether a pod should be started on a node, and whether one that is there may stay. */
export interface Placement {
  readonly starts: boolean;
  readonly stays: boolean;
}

export function placementOn(node: Node, { spec }: DaemonSet): Placement {
  const pod = spec.template.spec;
  const isNamed = (pod.nodeName ?? "") === "" || pod.nodeName === node.metadata.name;
  if (!isNamed || !wantsNode(pod, node)) return { starts: false, stays: false };
  const tolerations = tolerationsOf(pod);
  const taints = (node.spec.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  const evicting = taints.filter(({ effect }) => effect === "NoExecute");
  const isTolerated = (taint: Taint): boolean => tolerations.some((one) => tolerates(one, taint));
  return { starts: taints.every(isTolerated), stays: evicting.every(isTolerated) };
}

/** The node that a pod runs on or, until the scheduler has bound it, is meant for. */
export function nodeOf({ spec }: Pod): string | undefined {
  if ((spec.nodeName ?? "") !== "") return spec.nodeName;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const names = (required?.nodeSelectorTerms ?? [])
    .flatMap(({ matchFields }) => matchFields ?? [])
    .find(({ key, operator }) => key === "metadata.name" && operator === "In")?.values;
  return names?.length === 1 ? names[0] : undefined;
}

export function isUpdated({ metadata }: Pod, set: DaemonSet, hash: string): boolean {
  const generation = generationOf(set);
  const { [REVISION_LABEL]: podHash, [GENERATION_LABEL]: podGeneration } = metadata.labels ?? {};
  return podHash === hash || (generation !== undefined && podGeneration === generation);
}

export function newPod(set: DaemonSet, hash: string, nodeName: string): Pod {
  const pod = podFromTemplate(set.spec.template, set, controllerReference(daemonSetKind, set));
  const generation = generationOf(set);
  const labels = {
    ...pod.metadata.labels,
    ...(generation === undefined ? {} : { [GENERATION_LABEL]: generation }),
    [REVISION_LABEL]: hash,
  };
  const { affinity } = pod.spec;
  const onlyThere: NodeSelector = {
    nodeSelectorTerms: [
      { matchFields: [{ key: "metadata.name", operator: "In", values: [nodeName] }] },
    ],
  };
  const nodeAffinity = {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: onlyThere,
  };
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: {
      ...pod.spec,
      affinity: { ...affinity, nodeAffinity },
      tolerations: tolerationsOf(pod.spec),
    },
  };
}

/** Daemons stay through what drives other pods away; one of the same key and effect gives way. */
function tolerationsOf({ tolerations = [], hostNetwork }: PodSpec): readonly Toleration[] {
  const all = (key: string, effect: string): Toleration => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect,
  });
  const own = [
    all("not-ready", "NoExecute"),
    all("unreachable", "NoExecute"),
    all("disk-pressure", "NoSchedule"),
    all("memory-pressure", "NoSchedule"),
    all("pid-pressure", "NoSchedule"),
    all("unschedulable", "NoSchedule"),
    ...(hostNetwork === true ? [all("network-unavailable", "NoSchedule")] : []),
  ];
  const isSame = (a: Toleration, b: Toleration): boolean =>
    a.key === b.key &&
    a.effect === b.effect &&
    a.operator === b.operator &&
    (a.value ?? "") === (b.value ?? "");
  return [...tolerations.filter((one) => !own.some((other) => isSame(one, other))), ...own];
}

function generationOf({ metadata }: DaemonSet): string | undefined {
  const text = metadata.annotations?.[GENERATION];
  return text !== undefined && /^-?\d+$/.test(text) ? String(BigInt(text)) : undefined;
}
