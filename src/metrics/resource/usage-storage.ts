/**
 * The latest two points of every node and container, from which usage is computed.
 *
 * Promises (those of metrics-server):
 * 1. A node or pod has usage only when there are two points to compare. A container that started within
 *    the last resolution, at least 10 s ago, is compared with its start.
 * 2. A point of a restarted container is not compared with a point from before the restart.
 * 3. A pod has usage only if all its containers have.
 * 4. A node that was not scraped in the last round has no usage, nor have its pods.
 * 5. What is kept is bounded by what the last round saw.
 */
import type { NodeSample, UsagePoint } from "../scrape/node-sample.ts";

export interface Usage {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly timeMs: number;
  readonly windowMs: number;
}

export interface PodUsage {
  /** Of the container that was measured the earliest. */
  readonly timeMs: number;
  readonly windowMs: number;
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
}

interface Pair {
  readonly last: UsagePoint;
  readonly previous: UsagePoint | undefined;
}

interface StoredNode {
  readonly round: number;
  readonly node: Pair | undefined;
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Pair>>;
}

const FRESH_CONTAINER_MIN_MS = 10_000;

export class UsageStorage {
  readonly #resolutionMs: number;
  readonly #nodes = new Map<string, StoredNode>();
  #round = 0;

  constructor(resolutionMs: number) {
    this.#resolutionMs = resolutionMs;
  }

  /** How many nodes have points. */
  get size(): number {
    return this.#nodes.size;
  }

  beginRound(): void {
    this.#round += 1;
  }

  store(nodeName: string, sample: NodeSample): void {
    const stored = this.#nodes.get(nodeName);
    const pods = new Map<string, ReadonlyMap<string, Pair>>();
    for (const [key, containers] of sample.pods) {
      const before = stored?.pods.get(key);
      const pairs = new Map<string, Pair>();
      for (const [name, point] of containers) {
        pairs.set(name, pairOfContainer(point, before?.get(name), this.#resolutionMs));
      }
      pods.set(key, pairs);
    }
    const node = sample.node && pairOf(sample.node, stored?.node);
    this.#nodes.set(nodeName, { round: this.#round, node, pods });
  }

  /** Forgets the nodes that were not stored in this round. */
  endRound(): void {
    for (const [name, { round }] of this.#nodes) {
      if (round !== this.#round) this.#nodes.delete(name);
    }
  }

  /** Whether a node was scraped once only, so that a second scrape gives its usage. */
  hasSinglePoints(): boolean {
    for (const { node } of this.#nodes.values()) {
      if (node !== undefined && node.previous === undefined) return true;
    }
    return false;
  }

  ofNode(nodeName: string): Usage | undefined {
    return usageOf(this.#nodes.get(nodeName)?.node);
  }

  ofPod(nodeName: string, namespace: string, name: string): PodUsage | undefined {
    const pairs = this.#nodes.get(nodeName)?.pods.get(`${namespace}/${name}`);
    return pairs && podUsage(pairs);
  }

  /** Every pod of a node that has usage; keys are `namespace/name`. */
  *podsOf(nodeName: string): Generator<readonly [key: string, usage: PodUsage]> {
    for (const [key, pairs] of this.#nodes.get(nodeName)?.pods ?? []) {
      const usage = podUsage(pairs);
      if (usage !== undefined) yield [key, usage];
    }
  }
}

function podUsage(pairs: ReadonlyMap<string, Pair>): PodUsage | undefined {
  const containers: { readonly name: string; readonly usage: Usage }[] = [];
  let earliest: Usage | undefined;
  for (const [name, pair] of pairs) {
    const usage = usageOf(pair);
    if (usage === undefined) return undefined;
    containers.push({ name, usage });
    if (earliest === undefined || usage.timeMs < earliest.timeMs) earliest = usage;
  }
  if (earliest === undefined) return undefined;
  return { timeMs: earliest.timeMs, windowMs: earliest.windowMs, containers };
}

function pairOfContainer(point: UsagePoint, before: Pair | undefined, resolutionMs: number): Pair {
  const ageMs = point.timeMs - point.startMs;
  if (point.startMs > 0 && ageMs >= FRESH_CONTAINER_MIN_MS && ageMs < resolutionMs) {
    return { last: point, previous: { ...point, timeMs: point.startMs, cpuSeconds: 0 } };
  }
  // Started after the stored point: a restarted container counts from zero.
  if (before !== undefined && point.startMs >= before.last.timeMs) {
    return { last: point, previous: undefined };
  }
  return pairOf(point, before);
}

function pairOf(point: UsagePoint, before: Pair | undefined): Pair {
  if (before === undefined) return { last: point, previous: undefined };
  if (point.timeMs > before.last.timeMs) return { last: point, previous: before.last };
  // The kubelet answered with the same measurement again: the older point is still the one to compare with.
  const { previous } = before;
  const isOlder = previous !== undefined && previous.timeMs < point.timeMs;
  return { last: point, previous: isOlder ? previous : undefined };
}

function usageOf(pair: Pair | undefined): Usage | undefined {
  if (pair?.previous === undefined) return undefined;
  const { last, previous } = pair;
  const windowMs = last.timeMs - previous.timeMs;
  const usedSeconds = last.cpuSeconds - previous.cpuSeconds;
  if (windowMs <= 0 || usedSeconds < 0) return undefined;
  const cpuCores = usedSeconds / (windowMs / 1000);
  return { cpuCores, memoryBytes: last.memoryBytes, timeMs: last.timeMs, windowMs };
}
