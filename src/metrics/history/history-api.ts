/**
 * The history of one node or pod as an answer: three columns of equal length, oldest first. An addition of
 * k8ts below the resources of metrics.k8s.io (`…/nodes/NAME/history`, `…/pods/NAME/history`); the right to
 * read it is the one on `nodes/history` and `pods/history`.
 */
import type { UsageStorage } from "../resource/usage-storage.ts";
import type { UsageHistory } from "./usage-history.ts";

export interface HistoryAnswer {
  readonly kind: "UsageHistory";
  readonly apiVersion: "metrics.k8ts.io/v1";
  readonly metadata: { readonly name: string; readonly namespace?: string };
  /** Seconds since 1970. */
  readonly timestamps: readonly number[];
  readonly cpuCores: readonly number[];
  readonly memoryBytes: readonly number[];
}

export function nodeHistory(history: UsageHistory, name: string): HistoryAnswer {
  return answerOf(history, nodeKey(name), { name });
}

export function podHistory(history: UsageHistory, namespace: string, name: string): HistoryAnswer {
  return answerOf(history, podKey(`${namespace}/${name}`), { name, namespace });
}

/** Adds what the storage knows of a node and its pods to the round that began last. */
export function recordNode(history: UsageHistory, storage: UsageStorage, nodeName: string): void {
  const usage = storage.ofNode(nodeName);
  if (usage !== undefined) history.add(nodeKey(nodeName), usage.cpuCores, usage.memoryBytes);
  for (const [key, { containers }] of storage.podsOf(nodeName)) {
    let cpuCores = 0;
    let memoryBytes = 0;
    for (const { usage: own } of containers) {
      cpuCores += own.cpuCores;
      memoryBytes += own.memoryBytes;
    }
    history.add(podKey(key), cpuCores, memoryBytes);
  }
}

function answerOf(
  history: UsageHistory,
  key: string,
  metadata: HistoryAnswer["metadata"],
): HistoryAnswer {
  const samples = history.samples(key);
  return {
    kind: "UsageHistory",
    apiVersion: "metrics.k8ts.io/v1",
    metadata,
    timestamps: samples.map(({ timeMs }) => Math.round(timeMs / 1000)),
    cpuCores: samples.map(({ cpuCores }) => Number(cpuCores.toPrecision(4))),
    memoryBytes: samples.map(({ memoryBytes }) => Math.round(memoryBytes)),
  };
}

function nodeKey(name: string): string {
  return `node/${name}`;
}

/** Keys of pods have two slashes, those of nodes one. */
function podKey(key: string): string {
  return `pod/${key}`;
}
