/** What one evaluation carries along: variables, values of comprehensions, and what it has cost. */
import type { Value } from "../values/value.ts";
import { CelError } from "../values/value.ts";

/** Gives the values of variables; undefined for those that are not set. */
export interface Activation {
  find(name: string): Value | undefined;
}

/** Ends an evaluation whatever absorbs other faults. */
export class CostExceeded extends Error {
  constructor() {
    super("operation cancelled: actual cost limit exceeded");
  }
}

export class Frame {
  readonly activation: Activation;
  /** Variables of comprehensions; a fault stands where computing one failed. */
  readonly locals: (Value | CelError | undefined)[];
  readonly #costMax: number;
  #cost = 0;

  constructor(activation: Activation, localCount: number, costMax: number) {
    this.activation = activation;
    this.locals = new Array<Value | CelError | undefined>(localCount);
    this.#costMax = costMax;
  }

  get cost(): number {
    return this.#cost;
  }

  spend(cost: number): void {
    this.#cost += cost;
    if (this.#cost > this.#costMax) throw new CostExceeded();
  }

  local(slot: number): Value {
    const value = this.locals[slot];
    if (value instanceof CelError) throw value;
    return value!;
  }
}

export type Step = (frame: Frame) => Value;
