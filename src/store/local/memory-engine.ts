/** An engine without a disk. Commits are immediate; a fork shares all until one side changes. */
import { OrderedMap } from "#lib/collections/ordered-map.ts";
import {
  type Change,
  type Commit,
  EMPTY_STATE,
  type Engine,
  type Log,
  type ObsoleteRow,
  type State,
  type View,
} from "./engine.ts";
import { KeyIndex } from "./key-index.ts";

export class MemoryEngine implements Engine {
  readonly commitsTakeTime = false;
  readonly #keys: KeyIndex;
  readonly #log: MemoryLog;
  #state: State;

  private constructor(state: State, keys: KeyIndex, log: MemoryLog) {
    this.#state = state;
    this.#keys = keys;
    this.#log = log;
  }

  static create(): MemoryEngine {
    const log = new MemoryLog(OrderedMap.byNumber());
    return new MemoryEngine(EMPTY_STATE, KeyIndex.create(), log);
  }

  fork(): MemoryEngine {
    return new MemoryEngine(this.#state, this.#keys.fork(), this.#log.fork());
  }

  get view(): View {
    return { state: this.#state, keys: this.#keys, log: this.#log };
  }

  hold(): View & Disposable {
    return { ...this.fork().view, [Symbol.dispose]: () => undefined };
  }

  commit({ state, sweep, steps }: Commit): undefined {
    this.#state = state;
    this.#keys.sweep(sweep);
    this.#log.remove(sweep.rows);
    for (const step of steps) {
      this.#keys.apply(step);
      this.#log.add(step.change);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

class MemoryLog implements Log {
  readonly #changes: OrderedMap<number, Change>;

  constructor(changes: OrderedMap<number, Change>) {
    this.#changes = changes;
  }

  fork(): MemoryLog {
    return new MemoryLog(this.#changes.fork());
  }

  add(change: Change): void {
    this.#changes.set(change.position, change);
  }

  remove(rows: readonly ObsoleteRow[]): void {
    for (const { position } of rows) this.#changes.delete(position);
  }

  change(position: number): Change | undefined {
    return this.#changes.get(position);
  }

  value(position: number): Uint8Array | undefined {
    return this.#changes.get(position)?.value;
  }

  *changes(from: number, to: number): Iterable<Change> {
    for (const [position, change] of this.#changes.entriesFrom(from)) {
      if (position >= to) return;
      yield change;
    }
  }
}
