import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "./memory.ts";
import { bytes, describeStore, text } from "./testing/contract-suite.ts";

describeStore("memory", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const store = createMemoryStore({ clock });
  return {
    store,
    prefix: "/test/",
    passTime: (durationMs) => clock.advance(durationMs),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      clock[Symbol.dispose](); // fails if the store left a timer behind
    },
  };
});

test("memory: a watch gets a write before the write resolves", async () => {
  using clock = new VirtualClock();
  await using store = createMemoryStore({ clock });
  const abort = new AbortController();
  const received: string[] = [];
  const watching = store.watch("/a/", { signal: abort.signal }).deliverTo((batch) => {
    for (const { key, revision } of batch.events) received.push(`${key}@${revision}`);
  });
  const answer = store.put("/a/x", bytes("1"), { mustNotExist: true });
  assert.deepEqual(received, ["/a/x@2"]);
  assert.deepEqual(await answer, { ok: true, revision: 2 });
  abort.abort();
  await watching;
});

test("memory: a sink may write; its write comes after the one it received", async () => {
  using clock = new VirtualClock();
  await using store = createMemoryStore({ clock });
  const abort = new AbortController();
  const received: string[] = [];
  const receive = (name: string): Promise<void> =>
    store.watch("/a/", { signal: abort.signal }).deliverTo(({ events }) => {
      for (const { key } of events) {
        received.push(`${name} ${key}`);
        if (name === "first" && key === "/a/x") void store.put("/a/y", bytes("2"));
      }
    });
  const watching = [receive("first"), receive("second")];
  await store.put("/a/x", bytes("1"));
  assert.deepEqual(received, ["first /a/x", "second /a/x", "first /a/y", "second /a/y"]);
  abort.abort();
  await Promise.all(watching);
});

test("memory: forks live their own lives", async () => {
  using clock = new VirtualClock();
  await using store = createMemoryStore({ clock });
  await store.put("a", bytes("1"));
  await using fork = store.fork();
  await fork.put("a", bytes("2"));
  await fork.put("b", bytes("2"));
  await store.put("a", bytes("3"));
  await store.compact(3);
  assert.equal(text((await store.get("a")).entry?.value), "3");
  assert.equal(text((await fork.get("a")).entry?.value), "2");
  assert.equal(text((await fork.get("a", { atRevision: 2 })).entry?.value), "1");
  assert.equal(await store.currentRevision(), 3);
  assert.equal(await fork.currentRevision(), 4);
});

test("memory: a fork of a hundred times as much takes no longer", async () => {
  using clock = new VirtualClock();
  // The shortest of several times: whatever else the machine does only ever adds to one.
  const thousandForksMs = async (keys: number): Promise<number> => {
    await using store = createMemoryStore({ clock });
    for (let index = 0; index < keys; index++) await store.put(`k${index}`, bytes("1"));
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 4; round++) {
      const before = performance.now();
      const forks = Array.from({ length: 1_000 }, () => store.fork());
      shortestMs = Math.min(shortestMs, performance.now() - before);
      for (const fork of forks) await fork[Symbol.asyncDispose]();
    }
    return shortestMs;
  };
  const [smallMs, largeMs] = [await thousandForksMs(300), await thousandForksMs(30_000)];
  assert.ok(largeMs < 20 * smallMs + 20, `300 keys ${smallMs} ms, 30,000 keys ${largeMs} ms`);
});
