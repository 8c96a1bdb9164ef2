/**
 * The tables that are always in memory: heads, graves, expiry and the trail. They hold no values,
 * only where in the log to find them: about 200 bytes a key and 100 bytes a change that has not been
 * swept. A fork shares everything until one side changes.
 */
import { OrderedMap } from "#lib/ordered-map.ts";
import type { Grave, Head, ObsoleteRow, Step, Track } from "./engine.ts";

export class KeyIndex {
  readonly #heads: OrderedMap<string, Head>;
  readonly #graves: OrderedMap<string, Grave>;
  readonly #expiry: OrderedMap<Head, Head>;
  readonly #trail: OrderedMap<number, Track>;

  private constructor(
    heads: OrderedMap<string, Head>,
    graves: OrderedMap<string, Grave>,
    expiry: OrderedMap<Head, Head>,
    trail: OrderedMap<number, Track>,
  ) {
    this.#heads = heads;
    this.#graves = graves;
    this.#expiry = expiry;
    this.#trail = trail;
  }

  static create(): KeyIndex {
    return new KeyIndex(
      OrderedMap.byString(),
      OrderedMap.byString(),
      OrderedMap.create((a, b) => a.expiresAtMs - b.expiresAtMs || a.position - b.position),
      OrderedMap.byNumber(),
    );
  }

  fork(): KeyIndex {
    return new KeyIndex(
      this.#heads.fork(),
      this.#graves.fork(),
      this.#expiry.fork(),
      this.#trail.fork(),
    );
  }

  sweep(rows: readonly ObsoleteRow[]): void {
    for (const { track } of rows) {
      if (track === undefined) continue;
      const { position, deletedKey } = track;
      this.#trail.delete(position);
      if (deletedKey !== undefined && this.grave(deletedKey) === position) {
        this.#graves.delete(inByteOrder(deletedKey));
      }
    }
  }

  apply(step: Step): void {
    const { change, replaced } = step;
    const { key, position, createRevision, version, bytes, expiresAtMs } = change;
    const row = inByteOrder(key);
    this.#follow(step);
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

  /** Oldest first, the changes that made something obsolete which is still there. */
  *trail(): Iterable<Track> {
    for (const [, track] of this.#trail.entriesFrom()) yield track;
  }

  /** Where the trail begins. */
  get trailStart(): number | undefined {
    return this.#trail.firstKey();
  }

  *expiring(): Iterable<Head> {
    for (const [head] of this.#expiry.entriesFrom()) yield head;
  }

  #follow({ change, replaced }: Step): void {
    const { position, deleted } = change;
    if (replaced === undefined && !deleted) return;
    this.#trail.set(position, {
      position,
      previous: replaced?.position ?? 0,
      previousBytes: replaced?.bytes ?? 0,
      deletedKey: deleted ? change.key : undefined,
      deletedBytes: deleted ? change.bytes : 0,
    });
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
