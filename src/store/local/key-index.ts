/**
 * The tables that are always in memory: heads, graves, expiry and the trail. They hold no values,
 * only where in the log to find them: about 200 bytes a key and 100 bytes a change that has not been
 * swept. A fork shares everything until one side changes.
 */
import { OrderedMap } from "#lib/ordered-map.ts";
import type { Change, Grave, Head, Step, Sweep, Track } from "./engine.ts";

export class KeyIndex {
  readonly #heads: OrderedMap<string, Head>;
  readonly #graves: OrderedMap<string, Grave>;
  readonly #expiry: OrderedMap<Head, Head>;
  readonly #trail: OrderedMap<number, Track>;
  /** Changes up to here were swept before the index was made. */
  readonly #sweptPosition: number;

  private constructor(
    heads: OrderedMap<string, Head>,
    graves: OrderedMap<string, Grave>,
    expiry: OrderedMap<Head, Head>,
    trail: OrderedMap<number, Track>,
    sweptPosition: number,
  ) {
    this.#heads = heads;
    this.#graves = graves;
    this.#expiry = expiry;
    this.#trail = trail;
    this.#sweptPosition = sweptPosition;
  }

  static create(sweptPosition = 0): KeyIndex {
    return new KeyIndex(
      OrderedMap.byString(),
      OrderedMap.byString(),
      OrderedMap.create((a, b) => a.expiresAtMs - b.expiresAtMs || a.position - b.position),
      OrderedMap.byNumber(),
      sweptPosition,
    );
  }

  fork(): KeyIndex {
    return new KeyIndex(
      this.#heads.fork(),
      this.#graves.fork(),
      this.#expiry.fork(),
      this.#trail.fork(),
      this.#sweptPosition,
    );
  }

  sweep({ tracks }: Sweep): void {
    for (const { position, deletedKey } of tracks) {
      this.#trail.delete(position);
      if (deletedKey !== undefined && this.grave(deletedKey) === position) {
        this.#graves.delete(inByteOrder(deletedKey));
      }
    }
  }

  apply({ change, replaced }: Step): void {
    const { key, position, createRevision, version, bytes, expiresAtMs } = change;
    const row = inByteOrder(key);
    this.#follow(change);
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

  /** Oldest first, the changes that have not been swept and made something obsolete. */
  *trail(): Iterable<Track> {
    for (const [, track] of this.#trail.entriesFrom()) yield track;
  }

  *expiring(): Iterable<Head> {
    for (const [head] of this.#expiry.entriesFrom()) yield head;
  }

  #follow({ position, key, deleted, version, previous, previousBytes, bytes }: Change): void {
    // A new key replaces nothing: the deletion that it continues from goes when it is swept itself.
    if (position <= this.#sweptPosition || version === 1 || previous === 0) return;
    const obsoleteBytes = previousBytes + (deleted ? bytes : 0);
    const deletedKey = deleted ? key : undefined;
    this.#trail.set(position, { position, previous, obsoleteBytes, deletedKey });
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
