import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { RangeAnswer, Store } from "./contract.ts";
import { openEmbeddedStore } from "./embedded.ts";
import { bytes, describeStore, rejects, text } from "./testing/contract-suite.ts";

describeStore("embedded", async () => {
  const directory = await mkdtemp(join(tmpdir(), "k8ts-store-"));
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const store = await openEmbeddedStore({ directory, clock });
  return {
    store,
    prefix: "/test/",
    async passTime(durationMs) {
      await clock.advance(durationMs);
      // What fell due is being written: a write of our own comes after it.
      await store.transact([{ op: "check", key: "/none", mustNotExist: true }]);
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
      clock[Symbol.dispose]();
    },
  };
});

const KEYS = 3_500;
const ROUNDS_MAX = 30;

async function openFilled(): Promise<AsyncDisposable & { store: Store; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), "k8ts-store-"));
  const store = await openEmbeddedStore({ directory, clock: systemClock });
  await Promise.all(
    Array.from({ length: KEYS }, (_, index) => store.put(`/k/${index}`, bytes("1"))),
  );
  return {
    store,
    directory,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

/** For many flushes of a disk that may be slow, one after the other. */
const TIME = { timeout: 120_000 };

test("embedded: long ranges see one revision each, however many there are", TIME, async () => {
  await using filled = await openFilled();
  const { store } = filled;
  const ranges: Promise<RangeAnswer>[] = [];
  for (let round = 0; round < 150; round++) {
    ranges.push(store.range("/k/"));
    await store.put(`/k/${round}`, bytes(`${round}`));
  }
  for (const { revision, entries } of await Promise.all(ranges)) {
    assert.equal(entries.length, KEYS);
    const newest = Math.max(...entries.map(({ modRevision }) => modRevision));
    assert.equal(newest, revision, "neither older nor newer");
  }
});

test("embedded: a long range at an old revision outlives its compaction", async () => {
  await using filled = await openFilled();
  const { store } = filled;
  const old = await store.currentRevision();
  const rewrite = Array.from({ length: KEYS }, (_, index) => store.put(`/k/${index}`, bytes("2")));
  await Promise.all(rewrite);
  const reading = store.range("/k/", { atRevision: old });
  await store.compact(await store.currentRevision());
  const { entries } = await reading;
  assert.equal(entries.length, KEYS);
  assert.ok(entries.every(({ value }) => text(value) === "1"));
  await rejects(store.range("/k/", { atRevision: old }), "Compacted");
});

test("embedded: reads do not wait for writes", async () => {
  await using filled = await openFilled();
  const { store } = filled;
  const large = new Uint8Array(1_000_000);
  const orderOfRound = async (round: number): Promise<string> => {
    const order: string[] = [];
    const note = (name: string) => (): number => order.push(name);
    const keys = [1, 2, 3].map((n) => `/large/${round}/${n}`);
    const writes = keys.map((key) => store.put(key, large).then(note("write")));
    await new Promise((resolve) => setImmediate(resolve)); // by now the disk is at work
    await Promise.all([
      store.get("/k/1").then(note("read")),
      store.range("/k/", { limit: 500 }).then(note("read")),
      store.count("/k/").then(note("read")),
      store.get("/k/1", { atRevision: KEYS }).then(note("read")),
      ...writes,
    ]);
    return order.join();
  };
  // Where the disk is faster than this thread, the writes may be done before the reads begin.
  const want = "read,read,read,read,write,write,write";
  let [round, order] = [0, ""];
  while (order !== want && round < ROUNDS_MAX) order = await orderOfRound(round++);
  assert.equal(order, want);
  assert.equal(await store.count("/large/"), 3 * round);
});

test("embedded: closing waits for no long read, and breaks none", async () => {
  await using filled = await openFilled();
  const { store } = filled;
  const reads = Array.from({ length: 100 }, () => store.range("/k/"));
  const settled = Promise.allSettled(reads);
  await store[Symbol.asyncDispose]();
  for (const outcome of await settled) {
    if (outcome.status === "fulfilled") assert.equal(outcome.value.entries.length, KEYS);
    else assert.equal(outcome.reason.problem.code, "Closed");
  }
});

test("embedded: only its owner can read the files", async () => {
  await using filled = await openFilled();
  assert.equal(statSync(filled.directory).mode & 0o077, 0);
  for (const name of readdirSync(filled.directory)) {
    assert.equal(statSync(join(filled.directory, name)).mode & 0o077, 0, name);
  }
});

const damages: {
  name: string;
  damage(file: Buffer): Buffer;
  want: "Corrupt" | "empty" | "whole";
}[] = [
  { name: "something else", damage: () => Buffer.alloc(50_000, "not a store"), want: "Corrupt" },
  { name: "something short", damage: () => Buffer.from("hello"), want: "Corrupt" },
  { name: "a part", damage: (file) => file.subarray(0, 40_000), want: "Corrupt" },
  { name: "the end of one", damage: (file) => file.subarray(8_192), want: "Corrupt" },
  { name: "another version", damage: (file) => with32(file, 28, 99), want: "Corrupt" },
  { name: "an empty file", damage: () => Buffer.alloc(0), want: "empty" },
  { name: "zeros", damage: () => Buffer.alloc(100_000), want: "empty" },
  {
    name: "the first page of one that was never written to",
    damage: (file) => Buffer.concat([file.subarray(0, 4_096), Buffer.alloc(4_096)]),
    want: "empty",
  },
  { name: "all of it", damage: (file) => file, want: "whole" },
];

for (const { name, damage, want } of damages) {
  test(`embedded: a data file that holds ${name}`, async () => {
    await using filled = await openFilled();
    const { directory, store } = filled;
    await store[Symbol.asyncDispose]();
    const path = join(directory, "data.mdb");
    await writeFile(path, damage(await readFile(path)));
    const opening = openEmbeddedStore({ directory, clock: systemClock });
    if (want === "Corrupt") {
      await rejects(opening, "Corrupt");
      return;
    }
    await using again = await opening;
    assert.equal(await again.count(""), want === "empty" ? 0 : KEYS);
    assert.equal((await again.put("/k/0", bytes("2"))).ok, true);
  });
}

test("embedded: data in an older format is refused, and left as it is", async () => {
  await using filled = await openFilled();
  const { directory, store } = filled;
  await store[Symbol.asyncDispose]();
  const formatOf = async (change: (format: number) => number): Promise<number> => {
    const root = open<Uint8Array, Uint8Array>({
      path: directory,
      noSubdir: false,
      encoding: "binary",
      keyEncoding: "binary",
    });
    const state = Buffer.from(root.get(Buffer.from("state"))!);
    state.writeDoubleLE(change(state.readDoubleLE(0)), 0);
    await root.put(Buffer.from("state"), state);
    await root.close();
    return state.readDoubleLE(0);
  };
  const older = await formatOf((format) => format - 2);
  const opening = openEmbeddedStore({ directory, clock: systemClock });
  await rejects(opening, "Corrupt");
  await assert.rejects(
    opening,
    new RegExp(`format ${older}; this program knows ${older + 1} to ${older + 2}`),
  );
  await formatOf((format) => format + 2);
  await using again = await openEmbeddedStore({ directory, clock: systemClock });
  assert.equal(await again.count("/k/"), KEYS);
});

function with32(file: Buffer, offset: number, value: number): Buffer {
  const changed = Buffer.from(file);
  for (const page of [0, 4_096]) changed.writeUInt32LE(value, page + offset);
  return changed;
}

test("embedded: a packed range has the values of a plain one, small and large, after a restart too", async () => {
  const directory = await mkdtemp(join(tmpdir(), "k8ts-store-"));
  const sizes = [0, 1, 900, 8_191, 8_192, 8_193, 65_000, 70_000, 1_500_000, 3, 20_000];
  const filledWith = (size: number, n: number): Uint8Array =>
    Buffer.alloc(size, `${n}:${"x".repeat(n)}`);
  const check = async (store: Store): Promise<void> => {
    const { entries } = await store.range("/k/", { packed: true });
    const first = entries.map(({ value }) => text(value));
    const plain = await store.range("/k/");
    assert.deepEqual(
      entries.map(({ value }) => text(value)),
      first,
      "a later read does not change what was read",
    );
    assert.deepEqual(
      first,
      plain.entries.map(({ value }) => text(value)),
    );
  };
  try {
    {
      await using store = await openEmbeddedStore({ directory, clock: systemClock });
      for (const [n, size] of sizes.entries()) {
        await store.put(`/k/${n + 10}`, filledWith(size, n));
        await store.put(`/k/${n + 10}`, filledWith(size, n + 1));
      }
      await store.put("/k/gone", bytes("1"));
      await store.delete("/k/gone");
      await check(store);
    }
    await using store = await openEmbeddedStore({ directory, clock: systemClock });
    await check(store);
    const { entries, remaining } = await store.range("/k/1", { limit: 3 });
    assert.deepEqual([entries.map(({ key }) => key), remaining], [["/k/10", "/k/11", "/k/12"], 7]);
    await store.put("/k/105", bytes("new"));
    assert.equal((await store.range("/k/10")).entries.length, 2);
  } finally {
    await rm(directory, { recursive: true });
  }
});
