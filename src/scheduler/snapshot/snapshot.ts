/**
 * The cluster as the scheduler sees it: nodes, the pods on them, and counts derived from both.
 *
 * Promises:
 * 1. Every change is taken in at once and costs what changed, not what exists.
 * 2. A decision reads the snapshot without awaiting, so it sees one state.
 * 3. An assumed pod counts on its node until the API server's word on it arrives or it is forgotten.
 * 4. At most `COUNTERS_MAX` topology counters are kept; the one unused for longest goes first.
 */
import { isDeepStrictEqual } from "node:util";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { Labels } from "#api/meta/label-selector.ts";
import { createLabelClass, type LabelClass, labelClassKey } from "./label-classes.ts";
import { type LabelValues, labelValuesOf } from "./label-values.ts";
import { NodeInfo } from "./node-info.ts";
import { inZoneOrder } from "./node-order.ts";
import { countsAlike, PodInfo } from "./pod-info.ts";
import { sameLabels } from "./same-labels.ts";
import { TermGroups } from "./term-groups.ts";
import { type CounterSpec, TopologyCounter } from "./topology-counter.ts";

const COUNTERS_MAX = 1_000;

interface ImageState {
  readonly sizeBytes: number;
  nodes: number;
}

export class Snapshot {
  readonly terms = new TermGroups();
  readonly #nodes = new Map<string, NodeInfo>();
  readonly #pods = new Map<string, { info: PodInfo; readonly node: NodeInfo; assumed: boolean }>();
  readonly #classes = new Map<string, LabelClass>();
  readonly #counters = new Map<string, TopologyCounter>();
  readonly #images = new Map<string, ImageState>();
  readonly #namespaces = new Map<string, Labels>();
  #namespaceVersion = 0;
  #ordered: readonly NodeInfo[] | undefined;
  #versions = new Float64Array();
  /** By name of the label. */
  readonly #valuesOfLabel = new Map<string, LabelValues>();

  /** All nodes that exist, in the order in which they are tried. */
  get nodes(): readonly NodeInfo[] {
    this.#ordered ??= this.#inOrder();
    return this.#ordered;
  }

  /**
   * The version of each of `nodes`. A decision compares hundreds of them, which is several times faster
   * in one array than in as many objects.
   */
  get nodeVersions(): Float64Array {
    this.#ordered ??= this.#inOrder();
    return this.#versions;
  }

  /** The values of a label among all nodes. */
  valuesOfLabel(name: string): LabelValues {
    const { nodes } = this;
    let values = this.#valuesOfLabel.get(name);
    if (values === undefined) {
      values = labelValuesOf(name, nodes);
      this.#valuesOfLabel.set(name, values);
    }
    return values;
  }

  get podCount(): number {
    return this.#pods.size;
  }

  get assumedCount(): number {
    let count = 0;
    for (const { assumed } of this.#pods.values()) if (assumed) count += 1;
    return count;
  }

  /** Changes whenever the labels of a namespace do. */
  get namespaceVersion(): number {
    return this.#namespaceVersion;
  }

  node(name: string): NodeInfo | undefined {
    const node = this.#nodes.get(name);
    return node?.node === undefined ? undefined : node;
  }

  setNode(node: Node): void {
    const name = node.metadata.name ?? "";
    const known = this.#nodes.get(name);
    const info = known ?? new NodeInfo(name);
    if (known === undefined) this.#nodes.set(name, info);
    const isNew = info.node === undefined;
    const isMoved = isNew || !sameLabels(info.labels, node.metadata.labels ?? {});
    const isRecounted = isMoved || !isDeepStrictEqual(info.node?.spec?.taints, node.spec?.taints);
    if (isRecounted) for (const counter of this.#counters.values()) counter.removeNode(info);
    if (isMoved) for (const pod of info.pods.values()) this.terms.remove(pod, info);
    this.#countImages(info, -1);
    info.setNode(node);
    this.#noteVersion(info);
    this.#countImages(info, 1);
    if (isMoved) for (const pod of info.pods.values()) this.terms.add(pod, info);
    if (isRecounted) for (const counter of this.#counters.values()) counter.addNode(info);
    if (isMoved) this.#ordered = undefined;
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (info === undefined || info.node === undefined) return;
    for (const counter of this.#counters.values()) counter.removeNode(info);
    for (const pod of info.pods.values()) this.terms.remove(pod, info);
    this.#countImages(info, -1);
    info.clearNode();
    info.place = -1;
    for (const pod of info.pods.values()) this.terms.add(pod, info);
    if (info.pods.size === 0) this.#nodes.delete(name);
    this.#ordered = undefined;
  }

  /** The pod runs on the node that its spec names. */
  setPod(pod: Pod): void {
    const info = new PodInfo(pod);
    const nodeName = pod.spec.nodeName ?? "";
    const placed = this.#pods.get(info.uid);
    if (placed?.node.name !== nodeName || !countsAlike(placed.info, info)) {
      this.#place(info, nodeName, false);
      return;
    }
    placed.info = info;
    placed.assumed = false;
    placed.node.replacePod(info);
    this.#noteVersion(placed.node);
  }

  /** The pod is going to run there, though the API server does not say so yet. */
  assumePod(info: PodInfo, nodeName: string): void {
    this.#place(info, nodeName, true);
  }

  /** Takes an assumed pod back. A pod that was confirmed meanwhile stays. */
  forgetPod(uid: string): void {
    if (this.#pods.get(uid)?.assumed === true) this.removePod(uid);
  }

  isAssumed(uid: string): boolean {
    return this.#pods.get(uid)?.assumed === true;
  }

  /** The node on which the pod counts. */
  nodeOfPod(uid: string): NodeInfo | undefined {
    return this.#pods.get(uid)?.node;
  }

  removePod(uid: string): void {
    const placed = this.#pods.get(uid);
    if (placed === undefined) return;
    const { info, node } = placed;
    this.#pods.delete(uid);
    node.removePod(uid);
    this.#noteVersion(node);
    this.terms.remove(info, node);
    this.#countClass(info, node, -1);
    if (node.node === undefined && node.pods.size === 0) this.#nodes.delete(node.name);
  }

  setNamespace(name: string, labels: Labels | undefined): void {
    const known = this.#namespaces.get(name);
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    if (known !== undefined && labels !== undefined && sameLabels(known, labels)) return;
    this.#namespaceVersion += 1;
  }

  namespaceLabels(name: string): Labels | undefined {
    return this.#namespaces.get(name);
  }

  image(name: string): ImageState | undefined {
    return this.#images.get(name);
  }

  /** The counter of these pods and this topology, made on first use. */
  counter(spec: CounterSpec): TopologyCounter {
    const known = this.#counters.get(spec.key);
    if (known !== undefined) {
      this.#counters.delete(spec.key); // the last in the map was used last
      this.#counters.set(spec.key, known);
      return known;
    }
    const counter = new TopologyCounter(spec, () => this.nodes);
    for (const pods of this.#classes.values()) {
      if (!spec.counts(pods)) continue;
      pods.counters.add(counter);
      for (const [node, count] of pods.podsByNode) counter.addPods(node, count);
    }
    this.#counters.set(spec.key, counter);
    if (this.#counters.size > COUNTERS_MAX) this.#dropOldestCounter();
    return counter;
  }

  #place(info: PodInfo, nodeName: string, assumed: boolean): void {
    this.removePod(info.uid);
    let node = this.#nodes.get(nodeName);
    if (node === undefined) {
      node = new NodeInfo(nodeName);
      this.#nodes.set(nodeName, node);
    }
    this.#pods.set(info.uid, { info, node, assumed });
    node.addPod(info);
    this.#noteVersion(node);
    this.terms.add(info, node);
    this.#countClass(info, node, 1);
  }

  #inOrder(): readonly NodeInfo[] {
    const existing = [...this.#nodes.values()].filter(({ node }) => node !== undefined);
    const ordered = inZoneOrder(existing);
    this.#valuesOfLabel.clear();
    this.#versions = new Float64Array(ordered.length);
    for (const [place, node] of ordered.entries()) {
      node.place = place;
      this.#versions[place] = node.version;
    }
    return ordered;
  }

  #noteVersion({ place, version }: NodeInfo): void {
    if (place >= 0) this.#versions[place] = version;
  }

  #countClass(info: PodInfo, node: NodeInfo, change: 1 | -1): void {
    const key = labelClassKey(info);
    let pods = this.#classes.get(key);
    if (pods === undefined) {
      pods = createLabelClass(key, info);
      this.#classes.set(key, pods);
      for (const counter of this.#counters.values()) {
        if (counter.spec.counts(pods)) pods.counters.add(counter);
      }
    }
    const count = (pods.podsByNode.get(node) ?? 0) + change;
    if (count === 0) pods.podsByNode.delete(node);
    else pods.podsByNode.set(node, count);
    for (const counter of pods.counters) counter.addPods(node, change);
    if (pods.podsByNode.size === 0) this.#classes.delete(key);
  }

  #dropOldestCounter(): void {
    const [key, counter] = this.#counters.entries().next().value!;
    this.#counters.delete(key);
    for (const pods of this.#classes.values()) pods.counters.delete(counter);
  }

  #countImages({ images }: NodeInfo, change: 1 | -1): void {
    for (const [name, sizeBytes] of images) {
      let state = this.#images.get(name);
      if (state === undefined) {
        state = { sizeBytes, nodes: 0 };
        this.#images.set(name, state);
      }
      state.nodes += change;
      if (state.nodes === 0) this.#images.delete(name);
    }
  }
}
