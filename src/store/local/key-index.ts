/**
 * The tables that are always in memory: heads, graves and expiry. They hold no values, only where in
 * the log to find them: about 200 bytes a key. A fork shares everything until one side changes.
 */
import { OrderedMap } from "#lib/ordered-map.ts";
import type { Grave, Head, Step, Sweep } from "./engine.ts";

export class KeyIndex {
  readonly #heads: OrderedMap<string, Head>;
  readonly #graves: OrderedMap<string, Grave>;
  readonly #expiry: OrderedMap<Head, Head>;

  private constructor(
    heads: OrderedMap<string, Head>,
    graves: OrderedMap<string, Grave>,
    expiry: OrderedMap<Head, Head>,
  ) {
    this.#heads = heads;
    this.#graves = graves;
    this.#expiry = expiry;
  }

  static create(): KeyIndex {
    return new KeyIndex(
      OrderedMap.byString(),
      OrderedMap.byString(),
      OrderedMap.create((a, b) => a.expiresAtMs - b.expiresAtMs || a.position - b.position),
    );
  }

  fork(): KeyIndex {
    return new KeyIndex(this.#heads.fork(), this.#graves.fork(), this.#expiry.fork());
  }

  sweep({ graves }: Sweep): void {
    for (const key of graves) this.#graves.delete(inByteOrder(key));
  }

  apply({ change, replaced }: Step): void {
    const { key, position, createRevision, version, bytes, expiresAtMs } = change;
    const row = inByteOrder(key);
    if (replaced !== undefined && replaced.expiresAtMs > 0) this.#expiry.delete(replaced);
    if (change.deleted) {
      this.#heads.delete(row);
      this.#graves.set(row, { key, position });
      return;
    }
    const head: Head = { key, position, createRevision, version, bytes, expiresAtMs };
    this.#heads.set(row, head);
    if (replaced === undefined) this.#graves.delete(row);
    if (expiresAtMs > 0) this.#expiry.set(head, head);
  }

  head(key: string): Head | undefined {
    return this.#heads.get(inByteOrder(key));
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

  *expiring(): Iterable<Head> {
    for (const [head] of this.#expiry.entriesFrom()) yield head;
  }
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
