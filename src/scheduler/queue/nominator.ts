/** Which pods are nominated to run on which nodes before they are scheduled there. */
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";

const NONE: readonly PodInfo[] = [];

export class Nominator {
  readonly #nodeOf = new Map<string, string>();
  /** The lists are replaced, never changed, so that results can be kept for as long as a list is. */
  readonly #byNode = new Map<string, readonly PodInfo[]>();
  readonly #copies = new WeakMap<NodeInfo, NodeCopy>();

  get size(): number {
    return this.#nodeOf.size;
  }

  onNode(name: string): readonly PodInfo[] {
    return this.#byNode.get(name) ?? NONE;
  }

  /** The node as it would be with these pods, to be read only. Kept until one of them changes. */
  nodeWith(node: NodeInfo, pods: readonly PodInfo[]): NodeInfo {
    const known = this.#copies.get(node);
    if (known?.pods === pods && known.version === node.version) return known.copy;
    const copy = node.copy();
    for (const pod of pods) copy.addPod(pod);
    this.#copies.set(node, { copy, pods, version: node.version });
    return copy;
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodeOf.get(uid);
  }

  /** Replaces an earlier nomination of the pod. */
  add(pod: PodInfo, node: string): void {
    this.delete(pod.uid);
    if (node === "") return;
    this.#nodeOf.set(pod.uid, node);
    this.#byNode.set(node, [...this.onNode(node), pod]);
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
    const others = this.onNode(node).filter((pod) => pod.uid !== uid);
    if (others.length === 0) this.#byNode.delete(node);
    else this.#byNode.set(node, others);
  }
}

interface NodeCopy {
  readonly copy: NodeInfo;
  readonly pods: readonly PodInfo[];
  readonly version: number;
}
