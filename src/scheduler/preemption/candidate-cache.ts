/**
 * What preemption would do on a node, remembered for the next pod of the same spec: most nodes have
 * not changed since the last pod was decided.
 */
import type { Rejected } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Candidate } from "./victims.ts";

const SPECS_MAX = 16;

type Remembered = WeakMap<
  NodeInfo,
  {
    readonly version: number;
    readonly nominated: readonly PodInfo[];
    readonly result: Candidate | Rejected;
  }
>;

export class CandidateCache {
  readonly #bySpec = new Map<string, Remembered>();

  /** The results for pods like this one. */
  of({ specKey: key }: PodInfo): Remembered {
    const known = this.#bySpec.get(key) ?? new WeakMap();
    this.#bySpec.delete(key);
    this.#bySpec.set(key, known);
    if (this.#bySpec.size > SPECS_MAX) this.#bySpec.delete(this.#bySpec.keys().next().value!);
    return known;
  }
}
