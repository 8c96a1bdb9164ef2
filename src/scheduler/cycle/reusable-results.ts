/**
 * What filters and scores said of each node for the last pods of the same spec. Pods of one
 * workload ask every node the same question, and between two of them few nodes have changed.
 *
 * Promises:
 * 1. Only plugins that say so (`filtersByNodeOnly`, `scoresByNodeOnly`) are remembered, and only
 *    while the node and the pods on it have not changed.
 * 2. At most `SPECS_MAX` specs are kept; the one unused for longest goes first. When nodes come or
 *    go, everything is forgotten.
 */
import { FITS } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import type { NodeVerdict } from "./filter-run.ts";

const SPECS_MAX = 16;

type NodesInOrder = Pick<Snapshot, "nodes" | "nodeVersions">;

/** The results for pods of one spec, by the place of the node among all nodes. */
export class NodeResults {
  readonly nodes: readonly NodeInfo[];
  /** The nodes as they are now. */
  readonly #current: Float64Array;
  /** The nodes as they were when the filters were asked. */
  readonly #versions: Float64Array;
  readonly #verdicts: (NodeVerdict | undefined)[];
  /** 1 where the verdict of that version is that the pod fits. */
  readonly #fits: Uint8Array;
  readonly #scores = new Map<string, Float64Array>();

  constructor({ nodes, nodeVersions }: NodesInOrder) {
    this.nodes = nodes;
    this.#current = nodeVersions;
    this.#versions = new Float64Array(nodes.length).fill(-1);
    this.#verdicts = new Array<NodeVerdict | undefined>(nodes.length).fill(undefined);
    this.#fits = new Uint8Array(nodes.length);
  }

  /** Whether `verdict` would answer that the pod fits: the question of nearly every node of a search. */
  isKnownToFit(index: number): boolean {
    return this.#fits[index] === 1 && this.#versions[index] === this.#current[index];
  }

  /** What the remembered filters said, or undefined if they must be asked. */
  verdict(index: number): NodeVerdict | undefined {
    return this.#versions[index] === this.#current[index] ? this.#verdicts[index] : undefined;
  }

  setVerdict(index: number, verdict: NodeVerdict): void {
    this.#versions[index] = this.#current[index]!;
    this.#verdicts[index] = verdict;
    this.#fits[index] = verdict.verdict === FITS ? 1 : 0;
    for (const scores of this.#scores.values()) scores[index] = Number.NaN;
  }

  /**
   * Raw scores of a plugin; NaN where it must be asked. They belong to the version of the node for
   * which `verdict` answers.
   */
  scoresOf(plugin: string): Float64Array {
    let scores = this.#scores.get(plugin);
    if (scores === undefined) {
      scores = new Float64Array(this.nodes.length).fill(Number.NaN);
      this.#scores.set(plugin, scores);
    }
    return scores;
  }
}

export class ReusableResults {
  readonly #bySpec = new Map<string, NodeResults>();

  /** What verdicts depend on beside pods and nodes has changed. */
  clear(): void {
    this.#bySpec.clear();
  }

  /** Of pods like this one, under the profile of its scheduler name. */
  of(pod: PodInfo, snapshot: NodesInOrder): NodeResults {
    const key = pod.specKey;
    let results = this.#bySpec.get(key);
    if (results !== undefined) this.#bySpec.delete(key);
    if (results?.nodes !== snapshot.nodes) results = new NodeResults(snapshot);
    this.#bySpec.set(key, results);
    if (this.#bySpec.size > SPECS_MAX) this.#bySpec.delete(this.#bySpec.keys().next().value!);
    return results;
  }
}
