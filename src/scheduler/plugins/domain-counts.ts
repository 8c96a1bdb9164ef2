/**
 * Numbers of pods by topology domain as one cycle sees them: the snapshot's counts, which are
 * shared, and the changes of a trial, which are not.
 */
export class DomainCounts {
  readonly topologyKey: string;
  readonly #base: (domain: string) => number;
  #changes: Map<string, number> | undefined;

  constructor(topologyKey: string, base: (domain: string) => number) {
    this.topologyKey = topologyKey;
    this.#base = base;
  }

  of(domain: string): number {
    const base = this.#base(domain);
    return this.#changes === undefined ? base : base + (this.#changes.get(domain) ?? 0);
  }

  add(domain: string, change: number): void {
    this.#changes ??= new Map();
    this.#changes.set(domain, (this.#changes.get(domain) ?? 0) + change);
  }

  /** The sum of all changes. */
  get change(): number {
    let sum = 0;
    for (const change of this.#changes?.values() ?? []) sum += change;
    return sum;
  }

  copy(): DomainCounts {
    const copy = new DomainCounts(this.topologyKey, this.#base);
    if (this.#changes !== undefined) copy.#changes = new Map(this.#changes);
    return copy;
  }
}
