import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { LocalHistory, Store } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { createMemoryStore } from "#store/memory.ts";
import { bytes, rejects } from "#store/testing/contract-suite.ts";
import { DEFAULT_HISTORY } from "./auto-compaction.ts";

const START_MS = Date.parse("2030-01-01T00:00:00Z");
const MINUTE = 60_000;

interface Subject {
  readonly name: string;
  open(clock: VirtualClock): Promise<Store & LocalHistory>;
}

const subjects: Subject[] = [
  { name: "memory", open: async (clock) => createMemoryStore({ clock }) },
  {
    name: "embedded",
    open: async (clock) => {
      const directory = await mkdtemp(join(tmpdir(), "k8ts-history-"));
      const store = await openEmbeddedStore({ directory, clock });
      const close = store[Symbol.asyncDispose];
      return Object.assign(store, {
        [Symbol.asyncDispose]: async () => {
          await close();
          await rm(directory, { recursive: true });
        },
      });
    },
  },
];

for (const { name, open } of subjects) {
  describe(`history of the ${name} store`, () => {
    test("revisions: each has its commit time and the keys that it changed", async () => {
      using clock = new VirtualClock(START_MS);
      await using store = await open(clock);
      await store.put("a", bytes("1"));
      await clock.advance(1_000);
      await store.transact([
        { op: "put", key: "a", value: bytes("2") },
        { op: "put", key: "b", value: bytes("1") },
      ]);
      await clock.advance(1_000);
      await store.delete("a");
      assert.deepEqual(await store.revisions(), [
        { revision: 2, committedAtMs: START_MS, keys: ["a"] },
        { revision: 3, committedAtMs: START_MS + 1_000, keys: ["a", "b"] },
        { revision: 4, committedAtMs: START_MS + 2_000, keys: ["a"] },
      ]);
      const page = await store.revisions({ fromRevision: 3, limit: 1 });
      assert.deepEqual(
        page.map(({ revision }) => revision),
        [3],
      );
      await store.compact(3);
      const kept = await store.revisions();
      assert.deepEqual(
        kept.map(({ revision }) => revision),
        [4],
      );
    });

    test("revisionAt: the revision that was current at a time", async () => {
      using clock = new VirtualClock(START_MS);
      await using store = await open(clock);
      for (let index = 0; index < 100; index++) {
        await store.put(`k${index % 7}`, bytes(`${index}`));
        await clock.advance(10);
      }
      const rows = [
        { atMs: START_MS, want: 2 },
        { atMs: START_MS + 9, want: 2 },
        { atMs: START_MS + 10, want: 3 },
        { atMs: START_MS + 555, want: 57 },
        { atMs: START_MS + 990, want: 101 },
        { atMs: START_MS + 99_999, want: 101 },
      ];
      for (const { atMs, want } of rows) assert.equal(await store.revisionAt(atMs), want);
      await rejects(store.revisionAt(START_MS - 1), "Compacted");
      await store.compact(50);
      await rejects(store.revisionAt(START_MS + 100), "Compacted");
      assert.equal(await store.revisionAt(START_MS + 555), 57);
    });
  });
}

test("history: its age counts across restarts of the embedded store", async () => {
  const directory = await mkdtemp(join(tmpdir(), "k8ts-history-"));
  using clock = new VirtualClock(START_MS);
  const history = { ...DEFAULT_HISTORY, ageMs: 60 * MINUTE };
  const open = () => openEmbeddedStore({ directory, clock, history });
  try {
    const store = await open();
    await store.put("a", bytes("1"));
    await store.put("a", bytes("2"));
    await store[Symbol.asyncDispose]();
    for (let restarts = 0; restarts < 9; restarts++) {
      await clock.advance(7 * MINUTE); // less than a timer waits
      const again = await open();
      assert.equal((await again.get("a", { atRevision: 2 })).entry?.version, 1);
      await again[Symbol.asyncDispose]();
    }
    await using last = await open();
    await clock.advance(7 * MINUTE);
    await last.transact([{ op: "check", key: "/none", mustNotExist: true }]);
    await rejects(last.get("a", { atRevision: 2 }), "Compacted");
    assert.equal((await last.get("a")).entry?.version, 2);
  } finally {
    await rm(directory, { recursive: true });
  }
});
