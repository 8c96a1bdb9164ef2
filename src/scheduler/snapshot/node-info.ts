/**
 * A node with the pods on it and everything that filters ask of it, kept up to date as pods come
 * and go. Pods that are assumed to run there count as the others do.
 */
import type { Node, Taint } from "#api/generated/core.v1.ts";
import type { Labels } from "#api/meta/label-selector.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import type { HostPort, PodInfo } from "./pod-info.ts";
import {
  addResources,
  copyResources,
  noResources,
  type Resources,
  resourcesOfList,
} from "./resources.ts";

const ANY_ADDRESS = "0.0.0.0";
const NO_IMAGES: ReadonlyMap<string, number> = new Map();

export class NodeInfo {
  readonly name: string;
  /** Changes with the node and with everything that decisions read of the pods on it. */
  version = 0;
  /** Among the nodes in the order in which they are tried; -1 if it is not one of them. */
  place = -1;
  /** Undefined while pods are known to run on a node that is not. */
  node: Node | undefined;
  labels: Labels = {};
  /** Taints with the effect NoSchedule or NoExecute. */
  hardTaints: readonly Taint[] = [];
  /** Taints with the effect PreferNoSchedule. */
  softTaints: readonly Taint[] = [];
  isUnschedulable = false;
  allocatable: Resources = noResources();
  allowedPods = 0;
  /** Sizes in bytes by normalized image name. */
  images: ReadonlyMap<string, number> = NO_IMAGES;
  readonly pods = new Map<string, PodInfo>();
  requested: Resources = noResources();
  nonZeroMilliCpu = 0;
  nonZeroMemory = 0;
  /**
   * As upstream's, the set does not count: when pods share a port (the scheduler never lets them),
   * the port is free as soon as one of them is gone.
   */
  readonly #ports = new Set<string>();

  constructor(name: string) {
    this.name = name;
  }

  setNode(node: Node): void {
    const { metadata, spec, status } = node;
    const taints = spec?.taints ?? [];
    this.version += 1;
    this.node = node;
    this.labels = metadata.labels ?? {};
    this.hardTaints = taints.filter(
      ({ effect }) => effect === "NoSchedule" || effect === "NoExecute",
    );
    this.softTaints = taints.filter(({ effect }) => effect === "PreferNoSchedule");
    this.isUnschedulable = spec?.unschedulable === true;
    this.allocatable = resourcesOfList(status?.allocatable);
    this.allowedPods = quantityValue(quantityOf(status?.allocatable?.pods ?? "0"));
    this.images = imagesOf(node);
  }

  clearNode(): void {
    this.node = undefined;
    this.labels = {};
    this.images = NO_IMAGES;
  }

  addPod(pod: PodInfo): void {
    this.pods.set(pod.uid, pod);
    this.#count(pod, 1);
  }

  /** A later state of a pod on the node, which counts as the one before (`countsAlike`). */
  replacePod(pod: PodInfo): void {
    const before = this.pods.get(pod.uid);
    this.pods.delete(pod.uid); // the pod that changed last comes last, as upstream
    this.pods.set(pod.uid, pod);
    if (before?.startMs !== pod.startMs) this.version += 1;
  }

  /** The pod as it was counted, or undefined if it was not here. */
  removePod(uid: string): PodInfo | undefined {
    const pod = this.pods.get(uid);
    if (pod === undefined) return undefined;
    this.pods.delete(uid);
    this.#count(pod, -1);
    return pod;
  }

  /** Whether another pod has a port that excludes this one. */
  isPortTaken({ ip, protocol, port }: HostPort): boolean {
    if (this.#ports.size === 0) return false;
    const key = `${protocol}/${port}/`;
    if (ip === ANY_ADDRESS) {
      for (const taken of this.#ports) if (taken.startsWith(key)) return true;
      return false;
    }
    return this.#ports.has(`${key}${ip}`) || this.#ports.has(`${key}${ANY_ADDRESS}`);
  }

  /** A copy on which pods can be added and removed to see what would be. */
  copy(): NodeInfo {
    const copy = new NodeInfo(this.name);
    copy.node = this.node;
    copy.labels = this.labels;
    copy.hardTaints = this.hardTaints;
    copy.softTaints = this.softTaints;
    copy.isUnschedulable = this.isUnschedulable;
    copy.allocatable = this.allocatable;
    copy.allowedPods = this.allowedPods;
    copy.images = this.images;
    for (const [uid, pod] of this.pods) copy.pods.set(uid, pod);
    copy.requested = copyResources(this.requested);
    copy.nonZeroMilliCpu = this.nonZeroMilliCpu;
    copy.nonZeroMemory = this.nonZeroMemory;
    for (const key of this.#ports) copy.#ports.add(key);
    return copy;
  }

  #count(pod: PodInfo, sign: 1 | -1): void {
    this.version += 1;
    addResources(this.requested, pod.requests, sign);
    this.nonZeroMilliCpu += sign * pod.nonZeroMilliCpu;
    this.nonZeroMemory += sign * pod.nonZeroMemory;
    for (const { ip, protocol, port } of pod.hostPorts) {
      const key = `${protocol}/${port}/${ip}`;
      if (sign === 1) this.#ports.add(key);
      else this.#ports.delete(key);
    }
  }
}

/** With the tag `latest` where it has none. */
export function normalizedImageName(name: string): string {
  return name.lastIndexOf(":") <= name.lastIndexOf("/") ? `${name}:latest` : name;
}

function imagesOf({ status }: Node): ReadonlyMap<string, number> {
  if ((status?.images ?? []).length === 0) return NO_IMAGES;
  const images = new Map<string, number>();
  for (const { names, sizeBytes = 0 } of status?.images ?? []) {
    for (const name of names ?? []) images.set(normalizedImageName(name), sizeBytes);
  }
  return images;
}
