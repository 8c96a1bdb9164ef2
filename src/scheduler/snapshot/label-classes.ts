/**
 * Pods with the same namespace and labels form one class: a selector is compared with a class once
 * and not with each of its pods. Pods that are being deleted form classes of their own, because
 * some counts leave them out.
 */
import type { Labels } from "#api/meta/label-selector.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import type { TopologyCounter } from "./topology-counter.ts";

export interface LabelClass {
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly isTerminating: boolean;
  /** How many pods of the class run on each node. */
  readonly podsByNode: Map<NodeInfo, number>;
  /** The counters that count pods of this class. */
  readonly counters: Set<TopologyCounter>;
}

export function labelClassKey({ namespace, labels, isTerminating }: PodInfo): string {
  const names = Object.keys(labels);
  if (names.length > 1) names.sort();
  let key = `${isTerminating ? "-" : "+"}${namespace}`;
  for (const name of names) key += `\n${name}=${labels[name]}`;
  return key;
}

export function createLabelClass(key: string, pod: PodInfo): LabelClass {
  const { namespace, labels, isTerminating } = pod;
  return {
    key,
    namespace,
    labels,
    isTerminating,
    podsByNode: new Map(),
    counters: new Set(),
  };
}
