/** The contract in its plainest form: everything that ever happened in one array. For comparison. */
import type {
  Conflict,
  Entry,
  Operation,
  RangeOptions,
  TransactAnswer,
  WatchEvent,
} from "#store/contract.ts";

export type Refusal = "Compacted" | "FutureRevision";

export class Model {
  readonly #events: WatchEvent[] = [];
  revision: number;
  compactRevision: number;

  /** `revision`: where the store that it is compared with begins. */
  constructor(revision = 1) {
    this.revision = revision;
    this.compactRevision = 0;
  }

  entry(key: string, atRevision = this.revision): Entry | undefined {
    const last = this.#events.findLast((event) => {
      return event.key === key && event.revision <= atRevision;
    });
    if (last === undefined || last.type === "delete") return undefined;
    const { value, createRevision, revision: modRevision, version } = last;
    return { key, value, createRevision, modRevision, version };
  }

  range(prefix: string, options: RangeOptions = {}): { entries: Entry[]; remaining: number } {
    const { atRevision, limit = Number.POSITIVE_INFINITY, startAfter, keysOnly } = options;
    const keys = [...new Set(this.#events.map(({ key }) => key))]
      .filter(
        (key) => key.startsWith(prefix) && (startAfter === undefined || after(key, startAfter)),
      )
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const all = keys.flatMap((key) => this.entry(key, atRevision) ?? []);
    const entries = all.slice(0, limit);
    const shown = keysOnly ? entries.map((e) => ({ ...e, value: new Uint8Array() })) : entries;
    return { entries: shown, remaining: all.length - entries.length };
  }

  transact(operations: readonly Operation[]): TransactAnswer {
    const conflicts: Conflict[] = operations.flatMap((operation, index) => {
      const current = this.entry(operation.key);
      return this.#holds(operation, current) ? [] : [{ index, current }];
    });
    if (conflicts.length > 0) return { ok: false, revision: this.revision, conflicts };
    const changes = operations.filter(({ op }) => op !== "check");
    if (changes.length === 0) return { ok: true, revision: this.revision };
    const revision = this.revision + 1;
    for (const operation of changes) this.#apply(operation, revision);
    this.revision = revision;
    return { ok: true, revision };
  }

  events(prefix: string, fromRevision: number): WatchEvent[] {
    return this.#events.filter(({ key, revision }) => {
      return revision >= fromRevision && key.startsWith(prefix);
    });
  }

  refusesRead(atRevision: number | undefined): Refusal | undefined {
    if (atRevision === undefined) return undefined;
    if (atRevision > this.revision) return "FutureRevision";
    return atRevision < this.compactRevision ? "Compacted" : undefined;
  }

  #holds(operation: Operation, current: Entry | undefined): boolean {
    if (operation.op !== "delete" && operation.mustNotExist) return current === undefined;
    const { expectRevision } = operation;
    if (expectRevision !== undefined) return current?.modRevision === expectRevision;
    return operation.op !== "delete" || current !== undefined;
  }

  #apply(operation: Operation, revision: number): void {
    const { key } = operation;
    const current = this.entry(key);
    const prevValue = current?.value;
    if (operation.op !== "put") {
      const gone = { value: new Uint8Array(), createRevision: 0, version: 0 };
      this.#events.push({ type: "delete", key, prevValue, revision, ...gone });
      return;
    }
    this.#events.push({
      type: "put",
      key,
      value: operation.value,
      prevValue,
      revision,
      createRevision: current?.createRevision ?? revision,
      version: (current?.version ?? 0) + 1,
    });
  }
}

function after(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0;
}
