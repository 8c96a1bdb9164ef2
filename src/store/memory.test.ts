import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/virtual-clock.ts";
import { createMemoryStore } from "./memory.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();

test("memory: a watch hears of a write before the writer does", async () => {
  using clock = new VirtualClock();
  await using store = createMemoryStore({ clock });
  const abort = new AbortController();
  const heard: string[] = [];
  const watching = store.watch("/a/", { signal: abort.signal }).forEach((batch) => {
    for (const { key, revision } of batch.events) heard.push(`${key}@${revision}`);
  });
  const answer = store.put("/a/x", bytes("1"), { mustNotExist: true });
  assert.deepEqual(heard, ["/a/x@2"]);
  assert.deepEqual(await answer, { ok: true, revision: 2 });
  abort.abort();
  await watching;
});

test("memory: forks live their own lives", async () => {
  using clock = new VirtualClock();
  await using store = createMemoryStore({ clock });
  await store.put("a", bytes("1"));
  await using fork = store.fork();
  await fork.put("a", bytes("2"));
  await fork.put("b", bytes("2"));
  await store.put("a", bytes("3"));
  assert.equal(text((await store.get("a")).entry?.value), "3");
  assert.equal(text((await fork.get("a")).entry?.value), "2");
  assert.equal(text((await fork.get("a", { atRevision: 2 })).entry?.value), "1");
  assert.equal(await store.currentRevision(), 3);
  assert.equal(await fork.currentRevision(), 4);
});
