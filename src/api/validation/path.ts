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
    let path = new Path(undefined, name, true);
    for (const each of more) path = new Path(path, each, true);
    return path;
  }

  /** One step or several; a rest parameter would cost an array at each of thousands of calls. */
  child(name: string, second?: string, third?: string, fourth?: string): Path {
    const path = new Path(this, name, true);
    return second === undefined ? path : path.child(second, third, fourth);
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
