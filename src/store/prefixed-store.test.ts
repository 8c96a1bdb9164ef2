import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "./memory.ts";
import { PrefixedStore } from "./prefixed-store.ts";
import { bytes, describeStore } from "./testing/contract-suite.ts";

const PREFIXES = { seen: "/registry/", stored: "/clusters/" };

describeStore("prefixed", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const store = new PrefixedStore(createMemoryStore({ clock }), PREFIXES);
  return {
    store,
    prefix: "/registry/test/",
    over: (restored) => new PrefixedStore(restored, PREFIXES),
    passTime: (durationMs) => clock.advance(durationMs),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      clock[Symbol.dispose]();
    },
  };
});

test("etcd-prefix: keys lie below the prefix, and those of another cluster are not seen", async () => {
  using clock = new VirtualClock();
  await using inner = createMemoryStore({ clock });
  const store = new PrefixedStore(inner, PREFIXES);
  const abort = new AbortController();
  const received: string[] = [];
  const watching = store.watch("", { signal: abort.signal }).deliverTo(({ events }) => {
    for (const { key } of events) received.push(key);
  });
  await inner.put("/registry/pods/default/other", bytes("1"));
  await store.put("/registry/pods/default/own", bytes("2"));
  await store.put("compact_rev_key", bytes("3"));
  abort.abort();
  await watching;
  assert.deepEqual(received, ["/registry/pods/default/own", "compact_rev_key"]);
  const stored = await inner.range("", { keysOnly: true });
  assert.deepEqual(
    stored.entries.map(({ key }) => key),
    ["/clusters/pods/default/own", "/registry/pods/default/other", "compact_rev_key"],
  );
  const seen = await store.range("/registry/", { keysOnly: true });
  assert.deepEqual(
    seen.entries.map(({ key }) => key),
    ["/registry/pods/default/own"],
  );
});
