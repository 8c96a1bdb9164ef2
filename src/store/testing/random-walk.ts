/** Does random things to a store and to the model, and compares every answer. */
import assert from "node:assert/strict";
import type { Random } from "#lib/random.ts";
import {
  type Operation,
  type RangeOptions,
  type Store,
  StoreError,
  type WatchEvent,
} from "#store/contract.ts";
import { Model, type Refusal } from "./model.ts";

export interface WalkOptions {
  readonly random: Random;
  readonly steps: number;
  readonly prefix: string;
  /** What this kind of store can do besides: restart, be forked, … Returns the store to go on with. */
  disturb?(store: Store): Promise<Store>;
}

export async function walk(store: Store, options: WalkOptions): Promise<void> {
  const { random, steps, prefix } = options;
  const model = new Model(await store.currentRevision());
  if (model.revision > 1) {
    await store.compact(model.revision); // of what was before, the model knows nothing
    model.compactRevision = model.revision;
  }
  const deeds = new Deeds(random, model, prefix);
  for (let step = 0; step < steps; step++) {
    const dice = random.next();
    if (dice < 0.02 && options.disturb !== undefined) store = await options.disturb(store);
    else if (dice < 0.05) await deeds.compact(store);
    else if (dice < 0.5) await deeds.write(store);
    else if (dice < 0.6) await deeds.writeTogether(store);
    else if (dice < 0.75) await deeds.get(store);
    else if (dice < 0.93) await deeds.range(store);
    else await deeds.watch(store);
  }
  await deeds.compareAll(store);
}

const NAMES = ["a", "b", "c", "a/1", "a/2", "ab", "ä", "\u{1f600}", "\uffee", "z"];

class Deeds {
  readonly #random: Random;
  readonly #model: Model;
  readonly #prefix: string;

  constructor(random: Random, model: Model, prefix: string) {
    this.#random = random;
    this.#model = model;
    this.#prefix = prefix;
  }

  async write(store: Store): Promise<void> {
    const operations = this.#operations();
    assert.deepEqual(
      tidy(await store.transact(operations)),
      tidy(this.#model.transact(operations)),
    );
  }

  /** Concurrent writes are executed in some order, which the returned revisions show. */
  async writeTogether(store: Store): Promise<void> {
    const writes = Array.from({ length: 1 + this.#random.integer(8) }, () => this.#operations());
    const answers = await Promise.all(writes.map((operations) => store.transact(operations)));
    // A write that changed nothing was decided after the revision that it names, before the next.
    const order = answers
      .map((answer, index) => ({ answer, index, change: changes(writes[index]!) && answer.ok }))
      .toSorted(
        (x, y) => x.answer.revision - y.answer.revision || Number(y.change) - Number(x.change),
      );
    for (const { answer, index } of order) {
      assert.deepEqual(tidy(answer), tidy(this.#model.transact(writes[index]!)));
    }
  }

  async get(store: Store): Promise<void> {
    const key = this.#key();
    const atRevision = this.#revision();
    const read = store.get(key, atRevision === undefined ? {} : { atRevision });
    if (await refused(read, this.#model.refusesRead(atRevision))) return;
    const { revision, entry } = await read;
    assert.equal(revision, atRevision ?? this.#model.revision);
    assert.deepEqual(tidy(entry), tidy(this.#model.entry(key, atRevision)));
  }

  async range(store: Store): Promise<void> {
    const prefix = this.#prefix + this.#pick(["", "", "a", "a/", "b", "none"]);
    const atRevision = this.#revision();
    const options: RangeOptions = {
      ...(atRevision === undefined ? {} : { atRevision }),
      ...(this.#random.next() < 0.5 ? { limit: 1 + this.#random.integer(5) } : {}),
      ...(this.#random.next() < 0.3 ? { startAfter: this.#key() } : {}),
      ...(this.#random.next() < 0.2 ? { keysOnly: true } : {}),
      packed: this.#random.next() < 0.5,
    };
    const read = store.range(prefix, options);
    if (await refused(read, this.#model.refusesRead(atRevision))) return;
    const { entries, remaining } = await read;
    const wanted = this.#model.range(prefix, options);
    assert.deepEqual(
      { entries: entries.map(tidy), remaining },
      { ...wanted, entries: wanted.entries.map(tidy) },
    );
    const counted = await store.count(prefix, atRevision === undefined ? {} : { atRevision });
    assert.equal(
      counted,
      this.#model.range(prefix, atRevision === undefined ? {} : { atRevision }).entries.length,
    );
  }

  async watch(store: Store): Promise<void> {
    const { revision, compactRevision } = this.#model;
    const fromRevision = Math.max(1, revision - this.#random.integer(30));
    const prefix = this.#prefix + this.#pick(["", "a", "b"]);
    const wanted = this.#model.events(prefix, fromRevision);
    if (wanted.length === 0 && fromRevision > compactRevision) return;
    const abort = new AbortController();
    const events: WatchEvent[] = [];
    const watching = store
      .watch(prefix, { fromRevision, signal: abort.signal })
      .deliverTo((batch) => {
        events.push(...batch.events);
        if (events.length >= wanted.length) abort.abort();
      });
    if (await refused(watching, fromRevision <= compactRevision ? "Compacted" : undefined)) return;
    await watching;
    assert.deepEqual(events.map(tidy), wanted.map(tidy));
  }

  async compact(store: Store): Promise<void> {
    const { revision, compactRevision } = this.#model;
    const to = compactRevision + this.#random.integer(revision - compactRevision + 2);
    // Revision 1 is the empty store: etcd does not report whether it was compacted.
    if (to < 2) return;
    const compacting = store.compact(to);
    if (await refused(compacting, to > revision ? "FutureRevision" : undefined)) return;
    await compacting;
    this.#model.compactRevision = Math.max(compactRevision, to);
  }

  async compareAll(store: Store): Promise<void> {
    const { entries, revision } = await store.range(this.#prefix);
    assert.equal(revision, this.#model.revision);
    assert.deepEqual(entries.map(tidy), this.#model.range(this.#prefix).entries.map(tidy));
  }

  #operations(): Operation[] {
    const keys = new Set<string>();
    const count = this.#random.next() < 0.7 ? 1 : 1 + this.#random.integer(5);
    while (keys.size < count) keys.add(this.#key());
    return [...keys].map((key) => this.#operation(key));
  }

  #operation(key: string): Operation {
    const condition = this.#condition(key);
    const dice = this.#random.next();
    if (dice < 0.65) return { op: "put", key, value: this.#value(), ...condition };
    if (dice < 0.92) {
      const { expectRevision } = condition;
      return { op: "delete", key, ...(expectRevision === undefined ? {} : { expectRevision }) };
    }
    return { op: "check", key, ...condition };
  }

  /** Mostly one that holds. */
  #condition(key: string): { expectRevision?: number; mustNotExist?: boolean } {
    const current = this.#model.entry(key);
    const dice = this.#random.next();
    if (dice < 0.3) return {};
    if (dice < 0.8) {
      return current === undefined
        ? { mustNotExist: true }
        : { expectRevision: current.modRevision };
    }
    if (dice < 0.9) return { mustNotExist: true };
    return { expectRevision: 1 + this.#random.integer(this.#model.revision + 2) };
  }

  #value(): Uint8Array {
    const length = this.#pick([0, 1, 10, 100, 3_000, 20_000]);
    return Buffer.alloc(length, `${this.#random.integer(1_000_000)}`);
  }

  #revision(): number | undefined {
    if (this.#random.next() < 0.4) return undefined;
    return Math.max(1, this.#model.revision + 1 - this.#random.integer(40));
  }

  #key(): string {
    return this.#prefix + this.#pick(NAMES);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#random.integer(items.length)]!;
  }
}

function changes(operations: readonly Operation[]): boolean {
  return operations.some(({ op }) => op !== "check");
}

/** True if `work` had to fail and did; fails if it had to and did not. */
async function refused(work: Promise<unknown>, wanted: Refusal | undefined): Promise<boolean> {
  if (wanted === undefined) return false;
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StoreError, `expected ${wanted}, got ${error}`);
  assert.equal(error.problem.code, wanted);
  return true;
}

/** Bytes as text, and no difference between a missing property and an undefined one. */
function tidy(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_, inner: unknown) => {
      const bytes = inner as { type?: string; data?: number[] };
      if (inner instanceof Uint8Array) return Buffer.from(inner).toString("latin1");
      return bytes?.type === "Buffer" ? Buffer.from(bytes.data ?? []).toString("latin1") : inner;
    }),
  );
}
