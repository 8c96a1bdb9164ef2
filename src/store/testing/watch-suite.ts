/** The contract's promises about watches. */
import assert from "node:assert/strict";
import { test } from "vitest";
import {
  type Store,
  WATCH_BUFFER_EVENTS_MAX,
  type WatchBatch,
  type WatchEvent,
  type WatchOptions,
} from "#store/contract.ts";
import { brief, bytes, type OpenSubject, rejects, text } from "./contract-suite.ts";

export function describeWatches(open: OpenSubject): void {
  test("a watch delivers changes from now on, with what was there before", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    await store.put(`${prefix}a`, bytes("1"));
    using watch = follow(store, prefix);
    await store.put(`${prefix}a`, bytes("2"));
    await store.put(`${prefix}b`, bytes("1"));
    await store.delete(`${prefix}a`);
    await store.put(`${prefix}a`, bytes("3"));
    assert.deepEqual(await watch.take(4), [
      "put a=2 (was 1)",
      "put b=1",
      "delete a (was 2)",
      "put a=3",
    ]);
  });

  test("a watch from a revision delivers that revision first, and goes on live", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    await store.put(`${prefix}a`, bytes("1"));
    await store.put(`${prefix}a`, bytes("2"));
    await store.delete(`${prefix}a`);
    using watch = follow(store, prefix, { fromRevision: base + 2 });
    assert.deepEqual(await watch.take(2), ["put a=2 (was 1)", "delete a (was 2)"]);
    await store.put(`${prefix}a`, bytes("3"));
    assert.deepEqual(await watch.take(1), ["put a=3"]);
    const last = watch.events.at(-1)!;
    assert.equal(last.revision, base + 4);
    assert.equal(last.createRevision, base + 4);
    assert.equal(last.version, 1);
  });

  test("a watch from a revision to come waits for it", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    using watch = follow(store, prefix, { fromRevision: base + 3 });
    for (const value of ["1", "2", "3"]) await store.put(`${prefix}a`, bytes(value));
    assert.deepEqual(await watch.take(1), ["put a=3 (was 2)"]);
  });

  test("a watch gets only keys under its prefix", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    using watch = follow(store, `${prefix}a/`);
    using wide = follow(store, prefix);
    for (const key of ["a", "a/x", "a0", "b", "a/y"]) await store.put(prefix + key, bytes("1"));
    assert.deepEqual(await watch.take(2), ["put x=1", "put y=1"]);
    assert.equal((await wide.take(5)).length, 5);
  });

  test("withPrevValue false: a watch leaves out previous values", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    await store.put(`${prefix}a`, bytes("1"));
    await store.delete(`${prefix}a`);
    using watch = follow(store, prefix, { fromRevision: base + 1, withPrevValue: false });
    assert.deepEqual(await watch.take(2), ["put a=1", "delete a"]);
  });

  test("the changes of one revision arrive in one batch", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    using live = follow(store, prefix);
    await store.transact(
      ["a", "b", "c"].map((name) => ({ op: "put", key: prefix + name, value: bytes(name) })),
    );
    await store.put(`${prefix}d`, bytes("d"));
    using late = follow(store, prefix, { fromRevision: base + 1 });
    for (const watch of [live, late]) {
      await watch.take(4);
      const batch = watch.batches.find(({ events }) => events.length > 0)!;
      const together = batch.events.filter(({ revision }) => revision === base + 1);
      assert.deepEqual(
        together.map(({ value }) => text(value)),
        ["a", "b", "c"],
      );
    }
  });

  test("a watch that begins in history misses nothing written meanwhile", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    const total = 600;
    const write = async (from: number, to: number): Promise<void> => {
      const keys = Array.from({ length: to - from }, (_, index) => `${prefix}${from + index}`);
      await Promise.all(keys.map((key) => store.put(key, bytes("1"))));
    };
    await write(0, total / 2);
    using iterated = follow(store, prefix, { fromRevision: base + 1 });
    const abort = new AbortController();
    const poured: WatchEvent[] = [];
    const pouring = store
      .watch(prefix, { fromRevision: base + 1, signal: abort.signal })
      .deliverTo(({ events }) => {
        poured.push(...events);
        if (poured.length >= total) abort.abort();
      });
    await write(total / 2, total);
    await iterated.take(total);
    await pouring;
    const wanted = Array.from({ length: total }, (_, index) => base + 1 + index);
    assert.deepEqual(
      iterated.events.map(({ revision }) => revision),
      wanted,
    );
    assert.deepEqual(
      poured.map(({ revision }) => revision),
      wanted,
    );
  });

  test("a progress notification carries the store's revision", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const abort = new AbortController();
    const watch = store.watch(`${prefix}quiet/`, { signal: abort.signal });
    const iterator = watch[Symbol.asyncIterator]();
    await store.put(`${prefix}elsewhere`, bytes("1"));
    const revision = await store.currentRevision();
    watch.requestProgress();
    let marked = 0;
    while (marked < revision) {
      const { value } = await iterator.next();
      assert.deepEqual(value?.events, []);
      assert.ok(value.revision >= marked, "progress never goes back");
      marked = value.revision;
    }
    abort.abort();
  });

  test("a watch whose start was compacted says so", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    await store.put(`${prefix}a`, bytes("1"));
    await store.delete(`${prefix}a`);
    const compacted = await store.currentRevision();
    await store.put(`${prefix}a`, bytes("2"));
    await store.compact(compacted);
    for (const fromRevision of [1, compacted - 1, compacted]) {
      const signal = new AbortController().signal;
      const watch = store.watch(prefix, { fromRevision, signal });
      const problem = await rejects(watch[Symbol.asyncIterator]().next(), "Compacted");
      assert.equal(problem.compactRevision, compacted);
      const poured = store.watch(prefix, { fromRevision, signal });
      await rejects(
        poured.deliverTo(() => undefined),
        "Compacted",
      );
    }
    using watch = follow(store, prefix, { fromRevision: compacted + 1 });
    assert.deepEqual(await watch.take(1), ["put a=2"]);
  });

  test("a watch whose consumer is too slow is ended", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const abort = new AbortController();
    const watch = store.watch(prefix, { signal: abort.signal, withPrevValue: false });
    const iterator = watch[Symbol.asyncIterator]();
    await store.put(`${prefix}first`, bytes("1"));
    assert.equal((await iterator.next()).value?.events.length, 1, "it is live");
    await writeMany(store, prefix, WATCH_BUFFER_EVENTS_MAX + 200);
    await subject.passTime(200);
    const taken: WatchBatch[] = [];
    await rejects(async () => {
      for (;;) taken.push((await iterator.next()).value!);
    }, "SlowConsumer");
  });

  test("a watch that reads history is not ended as too slow, however long it is", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const base = await store.currentRevision();
    const total = WATCH_BUFFER_EVENTS_MAX + 1_000;
    await writeMany(store, prefix, total);
    using watch = follow(store, prefix, { fromRevision: base + 1, withPrevValue: false });
    await subject.passTime(200);
    await watch.take(total);
    assert.equal(watch.events.length, total);
  });

  test("a watch ends quietly when its signal aborts", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const abort = new AbortController();
    const waiting = store.watch(prefix, { signal: abort.signal })[Symbol.asyncIterator]().next();
    const pouring = store.watch(prefix, { signal: abort.signal }).deliverTo(() => undefined);
    abort.abort();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    await pouring;
    const late = store.watch(prefix, { signal: abort.signal });
    assert.deepEqual(await late[Symbol.asyncIterator]().next(), { done: true, value: undefined });
    await late.deliverTo(() => assert.fail("a watch that was over delivered"));
  });

  test("leaving the loop ends the watch", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const watch = store.watch(prefix, { signal: new AbortController().signal });
    await store.put(`${prefix}a`, bytes("1"));
    for await (const { events } of watch) if (events.length > 0) break;
    const { done } = await watch[Symbol.asyncIterator]().next();
    assert.equal(done, true);
  });

  test("what a sink throws ends its watch and no other", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    using healthy = follow(store, prefix);
    const signal = new AbortController().signal;
    const broken = store.watch(prefix, { signal }).deliverTo(({ events }) => {
      if (events.length > 0) throw new Error("sink failed");
    });
    const failure = assert.rejects(broken, /sink failed/);
    assert.equal((await store.put(`${prefix}a`, bytes("1"))).ok, true);
    await failure;
    await store.put(`${prefix}a`, bytes("2"));
    assert.deepEqual(await healthy.take(2), ["put a=1", "put a=2 (was 1)"]);
  });
}

/** A watch that is iterated; `take` waits until as many more events have come. */
function follow(
  store: Store,
  prefix: string,
  options: Omit<WatchOptions, "signal"> = {},
): Follower {
  const abort = new AbortController();
  const iterator = store
    .watch(prefix, { ...options, signal: abort.signal })
    [Symbol.asyncIterator]();
  const events: WatchEvent[] = [];
  const batches: WatchBatch[] = [];
  let taken = 0;
  return {
    events,
    batches,
    async take(count) {
      while (events.length < taken + count) {
        const { done, value } = await iterator.next();
        assert.ok(!done, "the watch is over");
        batches.push(value);
        events.push(...value.events);
      }
      const some = events.slice(taken, taken + count);
      taken += count;
      return some.map((event) => brief(event, prefix));
    },
    [Symbol.dispose]: () => abort.abort(),
  };
}

interface Follower extends Disposable {
  readonly events: readonly WatchEvent[];
  readonly batches: readonly WatchBatch[];
  take(count: number): Promise<string[]>;
}

/** Many events in few writes. */
async function writeMany(store: Store, prefix: string, total: number): Promise<void> {
  const perWrite = 100;
  for (let from = 0; from < total; from += perWrite) {
    const length = Math.min(perWrite, total - from);
    await store.transact(
      Array.from({ length }, (_, index) => {
        return { op: "put" as const, key: `${prefix}${from + index}`, value: bytes("1") };
      }),
    );
  }
}
