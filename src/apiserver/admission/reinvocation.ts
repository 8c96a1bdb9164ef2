/**
 * Which webhooks or policies are called again in the second pass: those with reinvocationPolicy IfNeeded
 * that were called before something else changed the object. In the second pass none is called that was
 * not called in the first.
 */
import type { KubeObject } from "#api/kind.ts";
import { jsonEqual } from "#api/patch/json-value.ts";

export interface ReinvocationMemory {
  /** Called, and not called for again since. */
  readonly called: ReadonlySet<string>;
  readonly due: ReadonlySet<string>;
  /** The object as it was left. */
  readonly output: KubeObject | undefined;
}

export class Reinvocation {
  readonly isSecondPass: boolean;
  /** Something was changed in this pass. */
  hasChanged = false;
  #called: Set<string>;
  readonly #due: Set<string>;

  constructor(memory: ReinvocationMemory | undefined, object: KubeObject | undefined) {
    this.isSecondPass = memory !== undefined;
    this.#called = new Set(memory?.called);
    this.#due = new Set(memory?.due);
    if (memory !== undefined && !jsonEqual(memory.output, object)) this.#callAgain();
  }

  isDue(uid: string): boolean {
    return !this.isSecondPass || this.#due.has(uid);
  }

  /** `reinvocable`: its reinvocationPolicy is IfNeeded. */
  wasCalled(uid: string, changed: boolean, reinvocable: boolean): void {
    if (changed) {
      this.hasChanged = true;
      this.#callAgain();
    }
    if (reinvocable) this.#called.add(uid);
  }

  memory(output: KubeObject | undefined): ReinvocationMemory {
    return { called: this.#called, due: this.#due, output };
  }

  #callAgain(): void {
    for (const uid of this.#called) this.#due.add(uid);
    this.#called = new Set();
  }
}
