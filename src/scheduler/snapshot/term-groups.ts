/**
 * The affinity terms of the pods that run, grouped: equal terms are one group with the number of
 * pods that carry it in each topology domain. A new pod is compared with each group once.
 */
import { type AffinityTerm, termSelects } from "./affinity-terms.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";

export type TermRole =
  | "required-affinity"
  | "required-anti-affinity"
  | "preferred-affinity"
  | "preferred-anti-affinity";

export interface TermGroup {
  readonly role: TermRole;
  readonly term: AffinityTerm;
  /** Of preferred terms. */
  readonly weight: number;
  /** Pods that carry the term, by the value of its topology key on their nodes. */
  readonly podsByDomain: Map<string, number>;
  /** Pods that carry the term on nodes without the topology key. */
  outside: number;
}

export class TermGroups {
  readonly #groups = new Map<TermRole, Map<string, TermGroup>>();

  get size(): number {
    let size = 0;
    for (const groups of this.#groups.values()) size += groups.size;
    return size;
  }

  add(pod: PodInfo, node: NodeInfo): void {
    this.#count(pod, node, 1);
  }

  remove(pod: PodInfo, node: NodeInfo): void {
    this.#count(pod, node, -1);
  }

  /** Groups whose term selects the pod. */
  selecting(
    pod: PodInfo,
    role: TermRole,
    namespaceLabels: Readonly<Record<string, string>> | undefined,
  ): TermGroup[] {
    const groups = this.#groups.get(role);
    if (groups === undefined) return [];
    const found: TermGroup[] = [];
    for (const group of groups.values()) {
      if (termSelects(group.term, pod.namespace, pod.labels, namespaceLabels)) found.push(group);
    }
    return found;
  }

  #count({ terms }: PodInfo, node: NodeInfo, change: 1 | -1): void {
    for (const term of terms.requiredAffinity) {
      this.#countTerm("required-affinity", term, 0, node, change);
    }
    for (const term of terms.requiredAntiAffinity) {
      this.#countTerm("required-anti-affinity", term, 0, node, change);
    }
    for (const { term, weight } of terms.preferredAffinity) {
      this.#countTerm("preferred-affinity", term, weight, node, change);
    }
    for (const { term, weight } of terms.preferredAntiAffinity) {
      this.#countTerm("preferred-anti-affinity", term, weight, node, change);
    }
  }

  #countTerm(
    role: TermRole,
    term: AffinityTerm,
    weight: number,
    { labels }: NodeInfo,
    change: 1 | -1,
  ): void {
    let groups = this.#groups.get(role);
    if (groups === undefined) {
      groups = new Map();
      this.#groups.set(role, groups);
    }
    const key = `${weight}|${term.topologyKey}|${term.podsKey}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { role, term, weight, podsByDomain: new Map(), outside: 0 };
      groups.set(key, group);
    }
    const domain = labels[term.topologyKey];
    if (domain === undefined) group.outside += change;
    else {
      const pods = (group.podsByDomain.get(domain) ?? 0) + change;
      if (pods === 0) group.podsByDomain.delete(domain);
      else group.podsByDomain.set(domain, pods);
    }
    if (group.outside === 0 && group.podsByDomain.size === 0) groups.delete(key);
  }
}
