/**
 * The tables that are always in memory: heads, tombstones, expiry and the trail. They hold no values,
 * only where in the log to find them: about 200 bytes a key and 100 bytes a change that has not been
 * swept. A fork shares everything until one side changes.
 *
 * Every write looks its key up and replaces its head. In a tree that means to compare a dozen long
 * strings, twice. So each key has a slot for its head, which a hash map finds. A slot can be changed
 * in place by the index that made it, as long as no fork shares it: both have the same generation.
 * The hash map cannot be forked, so a fork does with the tree. Where there is a hash map, new keys
 * take their places in the tree some at a time.
 */
import { OrderedMap } from "#lib/collections/ordered-map.ts";
import type { Change, Head, Step, Sweep, Tombstone } from "./engine.ts";
import { ObsoleteChanges } from "./obsolete-changes.ts";

interface Tables {
  readonly slots: OrderedMap<string, Slot>;
  readonly slotOf: Map<string, Slot> | undefined;
  readonly tombstones: OrderedMap<string, Tombstone>;
  readonly expiry: OrderedMap<Head, Head>;
  readonly trail: ObsoleteChanges;
}

interface Slot {
  readonly key: string;
  head: Head;
  readonly generation: number;
}

export class KeyIndex {
  readonly #tables: Tables;
  #generation: number;
  /** Keys take their places in the tree all at once, at the end. */
  #isLoading = false;

  private constructor(tables: Tables, generation: number) {
    this.#tables = tables;
    this.#generation = generation;
  }

  static create(): KeyIndex {
    const tables: Tables = {
      slots: OrderedMap.byString(),
      slotOf: new Map(),
      tombstones: OrderedMap.byString(),
      expiry: OrderedMap.create((a, b) => a.expiresAtMs - b.expiresAtMs || a.position - b.position),
      trail: ObsoleteChanges.create(),
    };
    return new KeyIndex(tables, 0);
  }

  /** The index of a whole log. `onStep` is called with each of its changes and what it replaced. */
  static ofLog(changes: Iterable<Change>, onStep: (step: Step) => void): KeyIndex {
    const index = KeyIndex.create();
    const { slots, slotOf } = index.#tables;
    index.#isLoading = true;
    for (const change of changes) {
      const step = { change, replaced: index.head(change.key) };
      index.apply(step);
      onStep(step);
    }
    index.#isLoading = false;
    slots.load(Array.from(slotOf!.values(), (slot) => [inByteOrder(slot.key), slot]));
    return index;
  }

  fork(): KeyIndex {
    const { slots, tombstones, expiry, trail } = this.#tables;
    const tables: Tables = {
      slots: slots.fork(),
      slotOf: undefined,
      tombstones: tombstones.fork(),
      expiry: expiry.fork(),
      trail: trail.fork(),
    };
    this.#generation += 1;
    return new KeyIndex(tables, this.#generation);
  }

  /** What is swept by and by is forgotten when a part of the trail is done with. */
  sweep({ tracksDone }: Sweep): void {
    if (tracksDone === 0) return;
    const { tombstones, trail } = this.#tables;
    for (const { position, deletedKey } of trail.take(tracksDone)) {
      if (deletedKey !== undefined && this.tombstone(deletedKey) === position) {
        tombstones.delete(inByteOrder(deletedKey));
      }
    }
  }

  apply(step: Step): void {
    const { tombstones, expiry } = this.#tables;
    const { change, replaced } = step;
    const { position, createRevision, version, bytes, expiresAtMs } = change;
    this.#follow(step);
    if (replaced !== undefined && replaced.expiresAtMs > 0) expiry.delete(replaced);
    if (change.deleted) {
      this.#deleteSlot(change.key);
      tombstones.set(inByteOrder(change.key), { key: change.key, position });
      return;
    }
    const key = replaced?.key ?? change.key; // the same text: one copy will do
    const head: Head = { key, position, createRevision, version, bytes, expiresAtMs };
    this.#setSlot(head);
    if (replaced === undefined) tombstones.delete(inByteOrder(key));
    if (expiresAtMs > 0) expiry.set(head, head);
  }

  head(key: string): Head | undefined {
    const { slots, slotOf } = this.#tables;
    return (slotOf === undefined ? slots.get(inByteOrder(key)) : slotOf.get(key))?.head;
  }

  tombstone(key: string): number {
    return this.#tables.tombstones.get(inByteOrder(key))?.position ?? 0;
  }

  *heads(prefix: string, after?: string): Iterable<Head> {
    for (const { head } of under(this.#tables.slots, prefix, after)) yield head;
  }

  tombstones(prefix: string, after?: string): Iterable<Tombstone> {
    return under(this.#tables.tombstones, prefix, after);
  }

  countHeads(prefix: string, after?: string): number {
    const { slots } = this.#tables;
    if (prefix === "" && after === undefined) return slots.size;
    const end = endOf(prefix);
    if (end !== undefined) return slots.countBetween(startOf(prefix, after), end);
    let count = 0;
    for (const _ of under(slots, prefix, after)) count += 1;
    return count;
  }

  /** The changes that made something obsolete which is still there. */
  get trail(): ObsoleteChanges {
    return this.#tables.trail;
  }

  *expiring(): Iterable<Head> {
    for (const [head] of this.#tables.expiry.entriesFrom()) yield head;
  }

  #setSlot(head: Head): void {
    const { slots, slotOf } = this.#tables;
    const { key } = head;
    const slot = slotOf?.get(key);
    if (slot?.generation === this.#generation) {
      slot.head = head;
      return;
    }
    const fresh: Slot = { key, head, generation: this.#generation };
    slotOf?.set(key, fresh);
    if (this.#isLoading) return;
    if (slotOf === undefined) slots.set(inByteOrder(key), fresh);
    else slots.setSoon(inByteOrder(key), fresh);
  }

  #deleteSlot(key: string): void {
    const { slots, slotOf } = this.#tables;
    if (!this.#isLoading) slots.delete(inByteOrder(key));
    slotOf?.delete(key);
  }

  #follow({ change, replaced }: Step): void {
    const { position, deleted } = change;
    if (replaced === undefined && !deleted) return;
    this.#tables.trail.add({
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

/** The first place in the order that a key under the prefix, and after `after`, can have. */
function startOf(prefix: string, after: string | undefined): string {
  const start = inByteOrder(prefix);
  if (after === undefined) return start;
  const next = `${inByteOrder(after)}\0`;
  return next > start ? next : start;
}

/** The first place after all keys under the prefix, unless there is none. */
function endOf(prefix: string): string | undefined {
  const start = inByteOrder(prefix);
  const last = start.charCodeAt(start.length - 1);
  if (Number.isNaN(last) || last === 0xffff) return undefined;
  return start.slice(0, -1) + String.fromCharCode(last + 1);
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
