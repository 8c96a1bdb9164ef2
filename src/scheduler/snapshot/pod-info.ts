/**
 * A pod with everything that filters and scores ask of it, prepared once when the pod arrives.
 * The pod object itself is never changed.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import type { Labels } from "#api/meta/label-selector.ts";
import { type AffinityTerms, affinityTermsOf, NO_TERMS } from "./affinity-terms.ts";
import { nonZeroResources, podResources, type Resources, sameResources } from "./resources.ts";
import { sameLabels } from "./same-labels.ts";

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

export class PodInfo {
  readonly pod: Pod;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly priority: number;
  readonly labels: Labels;
  readonly isTerminating: boolean;
  /** When it started; undefined if it has not. */
  readonly startMs: number | undefined;
  /** What the pod holds where it runs, or would hold. */
  readonly requests: Resources;
  readonly nonZeroMilliCpu: number;
  readonly nonZeroMemory: number;
  readonly hostPorts: readonly HostPort[];
  readonly terms: AffinityTerms;
  #specKey: string | undefined;

  constructor(pod: Pod) {
    const { metadata, spec } = pod;
    this.pod = pod;
    this.uid = metadata.uid ?? "";
    this.namespace = metadata.namespace ?? "";
    this.name = metadata.name ?? "";
    this.priority = spec.priority ?? 0;
    this.labels = metadata.labels ?? {};
    this.isTerminating = metadata.deletionTimestamp !== undefined;
    const startTime = pod.status?.startTime;
    this.startMs = startTime === undefined ? undefined : Date.parse(startTime);
    const useStatus = spec.nodeName !== undefined && spec.nodeName !== "";
    this.requests = podResources(pod, { useStatus });
    const nonZero = nonZeroResources(pod, this.requests, useStatus);
    this.nonZeroMilliCpu = nonZero.milliCpu;
    this.nonZeroMemory = nonZero.memory;
    this.hostPorts = hostPortsOf(pod);
    this.terms = affinityTermsOf(pod);
  }

  get key(): string {
    return `${this.namespace}/${this.name}`;
  }

  /** Equal for pods of equal specs, whatever the volume with their token is called. */
  get specKey(): string {
    this.#specKey ??= specKeyOf(this.pod);
    return this.#specKey;
  }
}

/**
 * Whether both states of a pod count the same on a node and in its topology. Pods with host ports or
 * affinity terms are never compared: they are few.
 */
export function countsAlike(a: PodInfo, b: PodInfo): boolean {
  return (
    a.priority === b.priority &&
    a.isTerminating === b.isTerminating &&
    a.nonZeroMilliCpu === b.nonZeroMilliCpu &&
    a.nonZeroMemory === b.nonZeroMemory &&
    a.hostPorts === NO_PORTS &&
    b.hostPorts === NO_PORTS &&
    a.terms === NO_TERMS &&
    b.terms === NO_TERMS &&
    sameResources(a.requests, b.requests) &&
    sameLabels(a.labels, b.labels)
  );
}

const TOKEN_VOLUME = "kube-api-access-";

function specKeyOf({ spec }: Pod): string {
  let text = JSON.stringify(spec);
  for (const { name } of spec.volumes ?? []) {
    if (name.startsWith(TOKEN_VOLUME)) text = text.replaceAll(`"${name}"`, `"${TOKEN_VOLUME}"`);
  }
  return text;
}

const NO_PORTS: readonly HostPort[] = [];

function hostPortsOf({ spec }: Pod): readonly HostPort[] {
  let ports: HostPort[] | undefined;
  const sidecars = (spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always");
  for (const container of [...(spec.containers ?? []), ...sidecars]) {
    for (const { hostPort = 0, hostIP = "", protocol = "" } of container.ports ?? []) {
      if (hostPort <= 0) continue;
      ports ??= [];
      ports.push({
        port: hostPort,
        ip: hostIP === "" ? "0.0.0.0" : hostIP,
        protocol: protocol === "" ? "TCP" : protocol,
      });
    }
  }
  return ports ?? NO_PORTS;
}
