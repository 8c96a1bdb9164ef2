/**
 * Where in an object a value stands: `spec.containers[0].name`, `metadata.annotations[a/b]`.
 * Steps are linked records, so that walking down costs one small allocation and the text is made
 * only when an error is reported.
 */
export class Path {
  readonly #parent: Path | undefined;
  readonly #step: string;

  private constructor(parent: Path | undefined, step: string) {
    this.#parent = parent;
    this.#step = step;
  }

  static of(name: string, ...more: readonly string[]): Path {
    return new Path(undefined, name).child(...more);
  }

  child(...names: readonly string[]): Path {
    let path: Path = this;
    for (const name of names) path = new Path(path, path.#step === "" ? name : `.${name}`);
    return path;
  }

  index(index: number): Path {
    return new Path(this, `[${index}]`);
  }

  key(key: string): Path {
    return new Path(this, `[${key}]`);
  }

  toString(): string {
    return (this.#parent?.toString() ?? "") + this.#step;
  }
}
