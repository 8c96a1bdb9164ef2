/** The tables in memory. Commits are immediate; a fork shares everything until one side changes. */
import { OrderedMap } from "#lib/ordered-map.ts";
import {
  type Change,
  type Commit,
  EMPTY_STATE,
  type Engine,
  type Grave,
  type Head,
  type State,
  type View,
} from "./engine.ts";

export class MemoryEngine implements Engine {
  readonly commitsTakeTime = false;
  readonly #tables: MemoryTables;

  private constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  static create(): MemoryEngine {
    return new MemoryEngine(MemoryTables.create());
  }

  fork(): MemoryEngine {
    return new MemoryEngine(this.#tables.fork());
  }

  get view(): View {
    return this.#tables;
  }

  hold(): View & Disposable {
    return this.#tables.fork();
  }

  commit({ state, sweep, steps }: Commit): undefined {
    this.#tables.apply({ state, sweep, steps });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

class MemoryTables implements View, Disposable {
  state: State;
  readonly #log: OrderedMap<number, Change>;
  readonly #heads: OrderedMap<string, Change>;
  readonly #graves: OrderedMap<string, Grave>;
  readonly #expiry: OrderedMap<Head, Head>;

  private constructor(
    state: State,
    log: OrderedMap<number, Change>,
    heads: OrderedMap<string, Change>,
    graves: OrderedMap<string, Grave>,
    expiry: OrderedMap<Head, Head>,
  ) {
    this.state = state;
    this.#log = log;
    this.#heads = heads;
    this.#graves = graves;
    this.#expiry = expiry;
  }

  static create(): MemoryTables {
    return new MemoryTables(
      EMPTY_STATE,
      OrderedMap.byNumber(),
      OrderedMap.byString(),
      OrderedMap.byString(),
      OrderedMap.create((a, b) => a.expiresAtMs - b.expiresAtMs || a.position - b.position),
    );
  }

  fork(): MemoryTables {
    return new MemoryTables(
      this.state,
      this.#log.fork(),
      this.#heads.fork(),
      this.#graves.fork(),
      this.#expiry.fork(),
    );
  }

  apply({ state, sweep, steps }: Commit): void {
    this.state = state;
    for (const position of sweep.positions) this.#log.delete(position);
    for (const key of sweep.graves) this.#graves.delete(inByteOrder(key));
    for (const { change, replaced } of steps) {
      const key = inByteOrder(change.key);
      this.#log.set(change.position, change);
      if (change.deleted) {
        this.#heads.delete(key);
        this.#graves.set(key, change);
      } else {
        this.#heads.set(key, change);
        if (replaced === undefined) this.#graves.delete(key);
      }
      if (replaced !== undefined && replaced.expiresAtMs > 0) this.#expiry.delete(replaced);
      if (change.expiresAtMs > 0) this.#expiry.set(change, change);
    }
  }

  head(key: string): Head | undefined {
    return this.#heads.get(inByteOrder(key));
  }

  change(position: number): Change | undefined {
    return this.#log.get(position);
  }

  grave(key: string): number {
    return this.#graves.get(inByteOrder(key))?.position ?? 0;
  }

  heads(prefix: string, after?: string): Iterable<Head> {
    return under(this.#heads, prefix, after);
  }

  graves(prefix: string, after?: string): Iterable<Grave> {
    return under(this.#graves, prefix, after);
  }

  countHeads(prefix: string, after?: string): number {
    if (prefix === "" && after === undefined) return this.#heads.size;
    let count = 0;
    for (const _ of under(this.#heads, prefix, after)) count += 1;
    return count;
  }

  *changes(from: number, to: number): Iterable<Change> {
    for (const [position, change] of this.#log.entriesFrom(from)) {
      if (position >= to) return;
      yield change;
    }
  }

  *expiring(): Iterable<Head> {
    for (const [head] of this.#expiry.entriesFrom()) yield head;
  }

  [Symbol.dispose](): void {}
}

function* under<Row extends { readonly key: string }>(
  table: OrderedMap<string, Row>,
  prefix: string,
  after: string | undefined,
): Iterable<Row> {
  let start = inByteOrder(prefix);
  if (after !== undefined && inByteOrder(after) > start) start = inByteOrder(after);
  for (const [, row] of table.entriesFrom(start)) {
    if (!row.key.startsWith(prefix)) return;
    if (row.key !== after) yield row;
  }
}

/**
 * Strings compare by UTF-16 units, the contract asks for UTF-8 bytes. The two differ only where a
 * surrogate meets a unit above it, so those are made to change places.
 */
function inByteOrder(key: string): string {
  if (!/[\ud800-\uffff]/.test(key)) return key;
  return key.replace(/[\ud800-\uffff]/g, (unit) => {
    const code = unit.charCodeAt(0);
    return String.fromCharCode(code >= 0xe000 ? code - 0x800 : code + 0x2000);
  });
}
