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
import type { NodeSample } from "../scrape/node-sample.ts";
import { NodeUsage, type PodUsage, type Usage } from "./node-usage.ts";

interface StoredNode {
  readonly usage: NodeUsage;
  round: number;
}

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
    if (stored?.usage.take(sample, this.#resolutionMs) === true) {
      stored.round = this.#round;
      return;
    }
    const usage = new NodeUsage(sample, stored?.usage);
    usage.take(sample, this.#resolutionMs);
    this.#nodes.set(nodeName, { usage, round: this.#round });
  }

  /** Forgets the nodes that were not stored in this round. */
  endRound(): void {
    for (const [name, { round }] of this.#nodes) {
      if (round !== this.#round) this.#nodes.delete(name);
    }
  }

  /** Whether a node was scraped once only, so that a second scrape gives its usage. */
  hasSinglePoints(): boolean {
    for (const { usage } of this.#nodes.values()) if (usage.isSingle) return true;
    return false;
  }

  ofNode(nodeName: string): Usage | undefined {
    return this.#nodes.get(nodeName)?.usage.node();
  }

  ofPod(nodeName: string, namespace: string, name: string): PodUsage | undefined {
    return this.#nodes.get(nodeName)?.usage.pod(`${namespace}/${name}`);
  }

  /** Every pod of a node that has usage; keys are `namespace/name`. */
  podsOf(nodeName: string): Iterable<readonly [key: string, usage: PodUsage]> {
    return this.#nodes.get(nodeName)?.usage.pods() ?? [];
  }
}
