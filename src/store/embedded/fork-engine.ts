/**
 * A fork of an engine: what was there when it was made, with changes of its own in memory on top.
 *
 * Nothing is copied. The fork holds the base in the state of that commit until it is disposed of, and
 * its own changes are gone then: they are never written to the disk.
 */
import { OrderedMap } from "#lib/collections/ordered-map.ts";
import {
  type Change,
  type Commit,
  type Engine,
  type Log,
  positionOf,
  type State,
  type View,
} from "#store/local/engine.ts";
import type { KeyIndex } from "#store/local/key-index.ts";

export class ForkEngine implements Engine {
  /** Reads of the base may be long: they are spread over several turns of the event loop. */
  readonly commitsTakeTime = true;
  readonly #base: View & Disposable;
  readonly #keys: KeyIndex;
  readonly #log: ForkLog;
  #state: State;
  #holds = 0;
  #whenReleased: (() => void) | undefined;

  /** Disposes of `base` when it ends. */
  constructor(base: View & Disposable) {
    this.#base = base;
    this.#state = base.state;
    this.#keys = base.keys;
    this.#log = new ForkLog(base, OrderedMap.byNumber());
  }

  get view(): View {
    return { state: this.#state, keys: this.#keys, log: this.#log };
  }

  hold(): View & Disposable {
    this.#holds += 1;
    return {
      state: this.#state,
      keys: this.#keys.fork(),
      log: this.#log.fork(),
      [Symbol.dispose]: () => {
        this.#holds -= 1;
        if (this.#holds === 0) this.#whenReleased?.();
      },
    };
  }

  commit({ state, sweep, steps }: Commit): undefined {
    this.#state = state;
    this.#keys.sweep(sweep);
    for (const { position } of sweep.rows) this.#log.remove(position);
    for (const step of steps) {
      this.#keys.apply(step);
      this.#log.add(step.change);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#holds > 0) {
      await new Promise<void>((resolve) => {
        this.#whenReleased = resolve;
      });
    }
    this.#base[Symbol.dispose]();
  }
}

/**
 * The changes of the fork behind those of its base. Positions grow, so that no change of the fork is
 * before one of the base. What the fork compacts stays in the base; nothing asks for it any more.
 */
class ForkLog implements Log {
  readonly #base: View;
  readonly #start: number;
  readonly #own: OrderedMap<number, Change>;

  constructor(base: View, own: OrderedMap<number, Change>) {
    this.#base = base;
    this.#start = positionOf(base.state.revision + 1, 0);
    this.#own = own;
  }

  fork(): ForkLog {
    return new ForkLog(this.#base, this.#own.fork());
  }

  add(change: Change): void {
    this.#own.set(change.position, change);
  }

  remove(position: number): void {
    if (position >= this.#start) this.#own.delete(position);
  }

  change(position: number): Change | undefined {
    return position < this.#start ? this.#base.log.change(position) : this.#own.get(position);
  }

  value(position: number, packed?: boolean): Uint8Array | undefined {
    return position < this.#start
      ? this.#base.log.value(position, packed)
      : this.#own.get(position)?.value;
  }

  *changes(from: number, to: number): Iterable<Change> {
    if (from < this.#start) yield* this.#base.log.changes(from, Math.min(to, this.#start));
    for (const [position, change] of this.#own.entriesFrom(Math.max(from, this.#start))) {
      if (position >= to) return;
      yield change;
    }
  }
}
