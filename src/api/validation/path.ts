/**
 * Where in an object a value stands: `spec.containers[0].name`, `metadata.annotations[a/b]`.
 * Steps are linked records, so that walking down costs one small allocation and the text is made
 * only when an error is reported.
 */
export class Path {
  readonly #parent: Path | undefined;
  readonly #step: string | number;
  readonly #isMember: boolean;

  private constructor(parent: Path | undefined, step: string | number, isMember: boolean) {
    this.#parent = parent;
    this.#step = step;
    this.#isMember = isMember;
  }

  static of(name: string, ...more: readonly string[]): Path {
    return new Path(undefined, name, true).#children(more);
  }

  child(name: string, ...more: readonly string[]): Path {
    const path = new Path(this, name, true);
    return more.length === 0 ? path : path.#children(more);
  }

  #children(names: readonly string[]): Path {
    let path: Path = this;
    for (const name of names) path = new Path(path, name, true);
    return path;
  }

  index(index: number): Path {
    return new Path(this, index, false);
  }

  key(key: string): Path {
    return new Path(this, key, false);
  }

  toString(): string {
    const before = this.#parent?.toString() ?? "";
    if (!this.#isMember) return `${before}[${this.#step}]`;
    return before === "" ? String(this.#step) : `${before}.${this.#step}`;
  }
}
