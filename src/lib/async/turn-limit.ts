/**
 * Bounds how much work begins in one turn of the event loop, so that a burst of hundreds of calls within
 * the process does not keep a request from outside waiting until all of them are done.
 *
 * Promises:
 * 1. At most `perTurn` callers of `begin` go on in a turn. The others wait.
 * 2. Flows take turns (round robin): a flow with thousands of waiting callers delays one with few by no
 *    more than a call each. Within a flow it is first come first served.
 * 3. A caller that need not wait gets undefined and costs no promise.
 */
import { Fifo } from "../collections/fifo.ts";
import { nextTurn } from "./next-turn.ts";

interface Flow {
  readonly waiting: Fifo<() => void>;
}

export class TurnLimit {
  readonly #perTurn: number;
  readonly #default: Flow = createFlow();
  /** Flows with callers that wait, each once. */
  readonly #flows = new Fifo<Flow>();
  #begun = 0;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Callers that share their place among the others. */
  flow(): () => Promise<void> | undefined {
    const flow = createFlow();
    return () => this.#begin(flow);
  }

  begin(): Promise<void> | undefined {
    return this.#begin(this.#default);
  }

  #begin(flow: Flow): Promise<void> | undefined {
    if (this.#begun >= this.#perTurn) {
      if (flow.waiting.size === 0) this.#flows.push(flow);
      return new Promise((resolve) => flow.waiting.push(resolve));
    }
    this.#count();
    return undefined;
  }

  #count(): void {
    if (this.#begun === 0) void nextTurn().then(() => this.#nextTurn());
    this.#begun += 1;
  }

  #nextTurn(): void {
    this.#begun = 0;
    while (this.#begun < this.#perTurn) {
      const flow = this.#flows.shift();
      if (flow === undefined) return;
      const next = flow.waiting.shift()!;
      if (flow.waiting.size > 0) this.#flows.push(flow);
      this.#count();
      next();
    }
  }
}

function createFlow(): Flow {
  return { waiting: new Fifo() };
}
