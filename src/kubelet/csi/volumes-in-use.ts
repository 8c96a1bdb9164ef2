/**
 * The attached volumes that this node uses. A volume is used only after the Node's status says so,
 * because the attach-detach controller may detach what no node lists.
 *
 * Promises:
 * 1. `isReported` is true only for volumes that the server was seen to have in `status.volumesInUse`.
 * 2. Pods that wait are woken when the Node's volumesInUse or volumesAttached change.
 */
import type { Node } from "#api/generated/core.v1.ts";

export interface VolumesInUseOptions {
  /** The Node's status should be sent. */
  onChange(): void;
  wake(podUids: Iterable<string>): void;
}

export class VolumesInUse {
  readonly #options: VolumesInUseOptions;
  readonly #used = new Set<string>();
  readonly #waiting = new Set<string>();
  #reported: ReadonlySet<string> = new Set();
  #seen = "";

  constructor(options: VolumesInUseOptions) {
    this.#options = options;
  }

  names(): readonly string[] {
    return [...this.#used].sort();
  }

  add(name: string): void {
    if (this.#used.has(name)) return;
    this.#used.add(name);
    this.#options.onChange();
  }

  remove(name: string): void {
    if (this.#used.delete(name)) this.#options.onChange();
  }

  isReported(name: string): boolean {
    return this.#reported.has(name);
  }

  /** The pod is woken when the Node's volumes change. */
  wait(podUid: string): void {
    this.#waiting.add(podUid);
  }

  observe({ status }: Node): void {
    const { volumesInUse = [], volumesAttached = [] } = status;
    this.#reported = new Set(volumesInUse);
    const seen = JSON.stringify([volumesInUse, volumesAttached]);
    if (seen === this.#seen) return;
    this.#seen = seen;
    const uids = [...this.#waiting];
    this.#waiting.clear();
    this.#options.wake(uids);
  }
}
