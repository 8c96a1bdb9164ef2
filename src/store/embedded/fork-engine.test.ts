import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { type EmbeddedStore, openEmbeddedStore } from "#store/embedded.ts";
import { bytes, describeStore, rejects, text } from "#store/testing/contract-suite.ts";

describeStore("fork of an embedded store", async () => {
  const directory = await mkdtemp(join(tmpdir(), "k8ts-fork-"));
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const base = await openEmbeddedStore({ directory, clock });
  await base.put("/other/a", bytes("1"));
  await base.put("/other/a", bytes("2"));
  const store = base.fork();
  return {
    store,
    prefix: "/test/",
    async passTime(durationMs) {
      await clock.advance(durationMs);
      await store.transact([{ op: "check", key: "/none", mustNotExist: true }]);
    },
    async [Symbol.asyncDispose]() {
      await base[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
      clock[Symbol.dispose](); // fails if a store left a timer behind
    },
  };
});

interface Opened extends AsyncDisposable {
  readonly store: EmbeddedStore;
  readonly directory: string;
}

async function openStore(): Promise<Opened> {
  const directory = await mkdtemp(join(tmpdir(), "k8ts-fork-"));
  const store = await openEmbeddedStore({ directory, clock: systemClock });
  return {
    store,
    directory,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

test("fork of an embedded store: writes on either side do not reach the other, and the fork leaves no files", async () => {
  await using opened = await openStore();
  const { store } = opened;
  await store.put("a", bytes("1"));
  await store.put("gone", bytes("1"));
  {
    await using fork = store.fork();
    await fork.put("a", bytes("2"));
    await fork.put("b", bytes("2"));
    await fork.delete("gone");
    await store.put("a", bytes("3"));
    await store.compact(4);
    assert.equal(text((await store.get("a")).entry?.value), "3");
    assert.equal(text((await fork.get("a")).entry?.value), "2");
    assert.equal(text((await fork.get("a", { atRevision: 2 })).entry?.value), "1");
    assert.equal(await fork.count(""), 2);
    assert.equal(await fork.currentRevision(), 6);
    await rejects(store.get("a", { atRevision: 2 }), "Compacted");
    const changed = await fork.revisions();
    assert.deepEqual(
      changed.map(({ revision, keys }) => `${revision} ${keys}`),
      ["2 a", "3 gone", "4 a", "5 b", "6 gone"],
    );
  }
  assert.equal(await store.currentRevision(), 4);
  assert.equal(await store.count(""), 2);
});

test("fork of an embedded store: its base stays readable while the store rewrites and compacts everything", async () => {
  await using opened = await openStore();
  const { store } = opened;
  const fill = (value: string) =>
    Promise.all(Array.from({ length: 2_000 }, (_, i) => store.put(`/k/${i}`, bytes(value))));
  await fill("old");
  await using fork = store.fork();
  for (const value of ["1", "2", "3"]) {
    await fill(value);
    await store.compact(await store.currentRevision());
  }
  const { entries } = await fork.range("/k/");
  assert.equal(entries.length, 2_000);
  assert.ok(entries.every(({ value }) => text(value) === "old"));
});

test("fork of an embedded store: a fork for which the file grew too much is ended, and the file stops growing", async () => {
  await using opened = await openStore();
  const { store, directory } = opened;
  const value = new Uint8Array(4_000);
  const rewrite = async () => {
    await Promise.all(Array.from({ length: 100 }, (_, i) => store.put(`/k/${i}`, value)));
    await store.compact(await store.currentRevision());
  };
  await rewrite();
  const growthBytesMax = 4 * 2 ** 20;
  const fork = store.fork({ growthBytesMax });
  const abort = new AbortController();
  const watching = fork.watch("/k/", { signal: abort.signal }).deliverTo(() => undefined);
  const ended = rejects(watching, "Closed");
  assert.equal(await fork.count("/k/"), 100);
  for (let round = 0; round < 40; round++) await rewrite();
  await rejects(fork.get("/k/0"), "Closed");
  await assert.rejects(fork.put("/k/0", value), /the data file grew by more than 4194304 bytes/);
  await ended;
  const { size } = await stat(join(directory, "data.mdb"));
  assert.ok(size < 5 * growthBytesMax, `${size} bytes`); // 41 rounds wrote 16 MB of values and more
  await fork[Symbol.asyncDispose]();
});

test("fork of an embedded store: the seventeenth is refused until another one is disposed of", async () => {
  await using opened = await openStore();
  const { store } = opened;
  await store.put("a", bytes("1"));
  const forks = Array.from({ length: 16 }, () => store.fork());
  await rejects(() => store.fork(), "Unavailable");
  await forks[3]![Symbol.asyncDispose]();
  const again = store.fork();
  assert.equal(await again.count(""), 1);
  await store[Symbol.asyncDispose]();
  await rejects(again.get("a"), "Closed"); // forks end with their store
});
