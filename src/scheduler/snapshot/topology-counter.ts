/**
 * How many pods of a selection run in each domain of a topology (each zone, each host), kept up to
 * date as pods and nodes come and go, so that a scheduling cycle looks counts up instead of
 * counting. Domains are counted from the first question about them on: scores by host ask for the pods
 * of nodes only, and in a large cluster each workload would have thousands of domains.
 */
import type { LabelClass } from "./label-classes.ts";
import type { NodeInfo } from "./node-info.ts";

export interface CounterSpec {
  /** Equal keys mean equal counts. */
  readonly key: string;
  readonly topologyKey: string;
  counts(pods: LabelClass): boolean;
  /** Nodes whose domains and pods are counted. */
  includes(node: NodeInfo): boolean;
}

interface Domain {
  nodes: number;
  pods: number;
}

export class TopologyCounter {
  readonly spec: CounterSpec;
  readonly #nodes: () => readonly NodeInfo[];
  #hasDomains = false;
  readonly #domains = new Map<string, Domain>();
  /** All pods of the selection by node, whether the node is included or not. */
  readonly #podsByNode = new Map<NodeInfo, number>();
  /** The same by the place of the node in `order`, once it has been asked for. */
  #podsByPlace = new Int32Array();
  #order: readonly NodeInfo[] | undefined;
  /** How many domains have how many pods. */
  readonly #domainsByPods = new Map<number, number>();
  #total = 0;
  #minimum = 0;

  constructor(spec: CounterSpec, nodes: () => readonly NodeInfo[]) {
    this.spec = spec;
    this.#nodes = nodes;
  }

  /** All domains that have an included node, those without pods too. */
  get domains(): ReadonlyMap<string, Readonly<Domain>> {
    if (!this.#hasDomains) {
      this.#hasDomains = true;
      for (const node of this.#nodes()) this.addNode(node);
    }
    return this.#domains;
  }

  /** Pods in all domains together. */
  get total(): number {
    return this.domains.size === 0 ? 0 : this.#total;
  }

  podsIn(domain: string): number {
    return this.domains.get(domain)?.pods ?? 0;
  }

  podsOn(node: NodeInfo): number {
    return this.#podsByNode.get(node) ?? 0;
  }

  /**
   * `podsOn` for all nodes at their places in the order in which they are tried: scores ask for hundreds of
   * nodes, and a look into an array is several times faster than one into a map.
   */
  get podsByPlace(): Int32Array {
    const order = this.#nodes();
    if (this.#order !== order) {
      this.#order = order;
      this.#podsByPlace = new Int32Array(order.length);
      for (const [{ place }, pods] of this.#podsByNode) this.#setPlace(place, pods);
    }
    return this.#podsByPlace;
  }

  /** The lowest number of pods in any domain; undefined if there is no domain. */
  get minimum(): number | undefined {
    if (this.domains.size === 0) return undefined;
    while (!this.#domainsByPods.has(this.#minimum)) this.#minimum += 1;
    return this.#minimum;
  }

  /** The same, as if the domain had another number of pods. */
  minimumWith(domain: string, pods: number): number | undefined {
    const known = this.domains.get(domain);
    if (known === undefined) return this.minimum;
    const lowest = this.minimum!;
    if (known.pods > lowest || (this.#domainsByPods.get(lowest) ?? 0) > 1) {
      return Math.min(lowest, pods);
    }
    if (this.domains.size === 1) return pods;
    let second = lowest + 1;
    while (!this.#domainsByPods.has(second)) second += 1;
    return Math.min(second, pods);
  }

  addNode(node: NodeInfo): void {
    const name = this.#domainOf(node);
    if (name === undefined) return;
    let domain = this.#domains.get(name);
    if (domain === undefined) {
      domain = { nodes: 0, pods: 0 };
      this.#domains.set(name, domain);
      this.#count(0, 1);
    }
    domain.nodes += 1;
    const pods = this.#podsByNode.get(node) ?? 0;
    if (pods !== 0) this.#move(domain, pods);
  }

  /** As it was added: its labels and taints change only while it is not counted. */
  removeNode(node: NodeInfo): void {
    const name = this.#domainOf(node);
    if (name === undefined) return;
    const domain = this.#domains.get(name)!;
    const pods = this.#podsByNode.get(node) ?? 0;
    if (pods !== 0) this.#move(domain, -pods);
    domain.nodes -= 1;
    if (domain.nodes > 0) return;
    this.#domains.delete(name);
    this.#count(domain.pods, -1);
  }

  addPods(node: NodeInfo, count: number): void {
    const pods = (this.#podsByNode.get(node) ?? 0) + count;
    if (pods === 0) this.#podsByNode.delete(node);
    else this.#podsByNode.set(node, pods);
    // If the order has changed meanwhile, all places are set anew when they are next asked for.
    if (this.#order !== undefined) this.#setPlace(node.place, pods);
    const name = this.#domainOf(node);
    if (name !== undefined) this.#move(this.#domains.get(name)!, count);
  }

  /**
   * The domain in which a node is counted; undefined if it is not. It is read from the node each time: kept
   * for each of thousands of nodes it would take most of the memory of a counter.
   */
  #domainOf(node: NodeInfo): string | undefined {
    if (!this.#hasDomains || node.node === undefined || !this.spec.includes(node)) return undefined;
    return node.labels[this.spec.topologyKey] ?? "";
  }

  #setPlace(place: number, pods: number): void {
    if (place >= 0 && place < this.#podsByPlace.length) this.#podsByPlace[place] = pods;
  }

  #move(domain: Domain, change: number): void {
    this.#count(domain.pods, -1);
    domain.pods += change;
    this.#total += change;
    this.#count(domain.pods, 1);
  }

  #count(pods: number, change: 1 | -1): void {
    const domains = (this.#domainsByPods.get(pods) ?? 0) + change;
    if (domains === 0) this.#domainsByPods.delete(pods);
    else this.#domainsByPods.set(pods, domains);
    if (pods < this.#minimum) this.#minimum = pods;
  }
}
