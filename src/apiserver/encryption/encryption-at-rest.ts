/** The encryption rules in force, which may be replaced while the server runs. */
import type { Clock } from "#lib/time/clock.ts";
import type { GroupResource } from "./group-resource.ts";
import type { LoadedEncryption } from "./load-encryption.ts";
import type { Transformer } from "./transformer.ts";

export class EncryptionAtRest implements Disposable {
  readonly #clock: Pick<Clock, "schedule">;
  #current: LoadedEncryption;

  constructor(first: LoadedEncryption, clock: Pick<Clock, "schedule">) {
    this.#current = first;
    this.#clock = clock;
  }

  get hash(): string {
    return this.#current.hash;
  }

  transformerOf(resource: GroupResource): Transformer | undefined {
    return this.#current.transformerOf(resource);
  }

  check(): Promise<string | undefined> {
    return this.#current.check();
  }

  /** The old rules are closed when calls of their plugins that are under way must be done. */
  replace(next: LoadedEncryption): void {
    const old = this.#current;
    this.#current = next;
    this.#clock.schedule(old.graceMs, () => old[Symbol.dispose]());
  }

  [Symbol.dispose](): void {
    this.#current[Symbol.dispose]();
  }
}
