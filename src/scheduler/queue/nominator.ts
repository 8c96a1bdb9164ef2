/** Which pods are nominated to run on which nodes before they are scheduled there. */
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";

const NONE: readonly PodInfo[] = [];

export class Nominator {
  readonly #nodeOf = new Map<string, string>();
  readonly #byNode = new Map<string, Map<string, PodInfo>>();

  onNode(name: string): readonly PodInfo[] {
    if (this.#byNode.size === 0) return NONE;
    const pods = this.#byNode.get(name);
    return pods === undefined ? NONE : [...pods.values()];
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodeOf.get(uid);
  }

  /** Replaces an earlier nomination of the pod. */
  add(pod: PodInfo, node: string): void {
    this.delete(pod.uid);
    if (node === "") return;
    this.#nodeOf.set(pod.uid, node);
    let pods = this.#byNode.get(node);
    if (pods === undefined) {
      pods = new Map();
      this.#byNode.set(node, pods);
    }
    pods.set(pod.uid, pod);
  }

  /** The pod changed: it keeps its nomination unless its status names another node. */
  update(pod: PodInfo): void {
    const stated = pod.pod.status?.nominatedNodeName ?? "";
    const known = this.#nodeOf.get(pod.uid);
    if (stated !== "") this.add(pod, stated);
    else if (known !== undefined) this.add(pod, known);
  }

  delete(uid: string): void {
    const node = this.#nodeOf.get(uid);
    if (node === undefined) return;
    this.#nodeOf.delete(uid);
    const pods = this.#byNode.get(node)!;
    pods.delete(uid);
    if (pods.size === 0) this.#byNode.delete(node);
  }
}
