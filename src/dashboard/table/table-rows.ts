/**
 * The rows of one table, filtered and in order, from which windows are cut. The browser gets only the
 * window that it shows.
 *
 * Promises:
 * 1. While rows change one by one, a change costs a binary search and, where the row gets another place,
 *    one splice; a page of new rows is merged, and where it follows all others appended; a new filter or
 *    order costs one sort of what matches.
 * 2. Rows that are equal in the column of the order are ordered by namespace and name.
 * 3. There are never more than `ROWS_MAX` rows; `isTruncated` says that some were left out.
 */
export interface Row {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly isDeleting: boolean;
  readonly cells: readonly unknown[];
}

export interface RowOrder {
  /** The index of a cell, or the time of creation. */
  readonly by: number | "created";
  readonly descending: boolean;
}

export interface RowSelection {
  /** Words that all have to be in the row, whatever their case. */
  readonly filter: string;
  readonly order: RowOrder | undefined;
}

const ROWS_MAX = 500_000;

interface Entry {
  readonly row: Row;
  readonly key: number | string;
}

export class TableRows {
  readonly #rows = new Map<string, Row>();
  #selection: RowSelection = { filter: "", order: undefined };
  #words: readonly string[] = [];
  /** Undefined while it has to be made anew. */
  #ordered: Entry[] | undefined;
  #isTruncated = false;

  get total(): number {
    return this.#rows.size;
  }

  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  clear(): void {
    this.#rows.clear();
    this.#ordered = undefined;
    this.#isTruncated = false;
  }

  /** Many rows at once, such as a page of a list. */
  putAll(rows: readonly Row[]): void {
    const added: Entry[] = [];
    for (const row of rows) {
      if (this.#ordered === undefined || this.#rows.has(row.uid)) this.put(row);
      else if (this.#hasRoom()) {
        this.#rows.set(row.uid, row);
        if (this.#matches(row)) added.push(this.#entry(row));
      }
    }
    if (this.#ordered === undefined || added.length === 0) return;
    const compare = this.#compare.bind(this);
    this.#ordered = merged(this.#ordered, added.sort(compare), compare);
  }

  /** Returns false if nothing that is shown has changed. */
  put(row: Row): boolean {
    const before = this.#rows.get(row.uid);
    if (before === undefined && !this.#hasRoom()) return false;
    if (before !== undefined && isSame(before, row)) return false;
    this.#rows.set(row.uid, row);
    if (this.#ordered === undefined) return true;
    if (before !== undefined) {
      if (this.#replace(before, row)) return true;
      this.#takeOut(before);
    }
    if (!this.#matches(row)) return true;
    const entry = this.#entry(row);
    this.#ordered?.splice(this.#place(entry), 0, entry);
    return true;
  }

  remove(uid: string): void {
    const before = this.#rows.get(uid);
    if (before === undefined) return;
    this.#rows.delete(uid);
    this.#takeOut(before);
  }

  select(selection: RowSelection): void {
    const { filter, order } = this.#selection;
    const same =
      filter === selection.filter &&
      order?.by === selection.order?.by &&
      order?.descending === selection.order?.descending;
    if (same) return;
    this.#selection = selection;
    this.#words = selection.filter.toLowerCase().split(/\s+/).filter(Boolean);
    this.#ordered = undefined;
  }

  /** How many rows match the filter. */
  get matched(): number {
    return this.#current().length;
  }

  window(offset: number, limit: number): readonly Row[] {
    return this.#current()
      .slice(offset, offset + limit)
      .map(({ row }) => row);
  }

  #hasRoom(): boolean {
    const hasRoom = this.#rows.size < ROWS_MAX;
    if (!hasRoom) this.#isTruncated = true;
    return hasRoom;
  }

  #current(): Entry[] {
    if (this.#ordered !== undefined) return this.#ordered;
    const entries: Entry[] = [];
    for (const row of this.#rows.values()) if (this.#matches(row)) entries.push(this.#entry(row));
    this.#ordered = entries.sort((a, b) => this.#compare(a, b));
    return this.#ordered;
  }

  /** Most changes leave a row in its place; false if this one does not. */
  #replace(before: Row, row: Row): boolean {
    const entry = this.#entry(row);
    if (!this.#matches(before) || !this.#matches(row)) return false;
    if (this.#compare(this.#entry(before), entry) !== 0) return false;
    const place = this.#place(entry);
    if (this.#ordered?.[place]?.row !== before) return false;
    this.#ordered[place] = entry;
    return true;
  }

  #takeOut(row: Row): void {
    if (this.#ordered === undefined || !this.#matches(row)) return;
    const place = this.#place(this.#entry(row));
    if (this.#ordered[place]?.row.uid === row.uid) this.#ordered.splice(place, 1);
    else this.#ordered = undefined; // equal in every respect but the uid
  }

  /** The first place whose entry does not come before this one. */
  #place(entry: Entry): number {
    const ordered = this.#ordered ?? [];
    let low = 0;
    let high = ordered.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(ordered[middle]!, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #entry(row: Row): Entry {
    const { order } = this.#selection;
    return { row, key: order === undefined ? "" : orderKey(row, order.by) };
  }

  #compare(a: Entry, b: Entry): number {
    const byKey = compareKeys(a.key, b.key);
    if (byKey !== 0) return this.#selection.order?.descending ? -byKey : byKey;
    return compareText(a.row.namespace, b.row.namespace) || compareText(a.row.name, b.row.name);
  }

  #matches(row: Row): boolean {
    if (this.#words.length === 0) return true;
    const text = `${row.namespace} ${row.name} ${row.cells.join(" ")}`.toLowerCase();
    return this.#words.every((word) => text.includes(word));
  }
}

/** Changes `ordered` where all of `added` come after it. */
function merged(
  ordered: Entry[],
  added: readonly Entry[],
  compare: (a: Entry, b: Entry) => number,
): Entry[] {
  const last = ordered.at(-1);
  if (last === undefined || compare(last, added[0]!) <= 0) {
    for (const entry of added) ordered.push(entry);
    return ordered;
  }
  const both: Entry[] = [];
  let next = 0;
  for (const entry of ordered) {
    while (next < added.length && compare(added[next]!, entry) < 0) both.push(added[next++]!);
    both.push(entry);
  }
  while (next < added.length) both.push(added[next++]!);
  return both;
}

function isSame(a: Row, b: Row): boolean {
  return (
    a.isDeleting === b.isDeleting &&
    a.name === b.name &&
    a.namespace === b.namespace &&
    a.createdAt === b.createdAt &&
    a.cells.length === b.cells.length &&
    a.cells.every((cell, index) => cell === b.cells[index])
  );
}

/** Cells that begin with a number, as `3/5` and `12 (4m ago)` do, are ordered by it. */
function orderKey(row: Row, by: RowOrder["by"]): number | string {
  if (by === "created") return row.createdAt;
  const cell = row.cells[by];
  if (typeof cell === "number") return cell;
  const text = cell === null || cell === undefined ? "" : String(cell);
  const number = /^-?\d+(\.\d+)?(?=$|[/ %])/.exec(text);
  return number === null ? text : Number(number[0]);
}

/** Numbers come before text. */
function compareKeys(a: number | string, b: number | string): number {
  if (typeof a === "number") return typeof b === "number" ? a - b : -1;
  return typeof b === "number" ? 1 : compareText(a, b);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
