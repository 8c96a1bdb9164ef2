import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "#store/memory.ts";
import { bytes, rejects } from "#store/testing/contract-suite.ts";
import { DEFAULT_HISTORY, decideBySize } from "./auto-compaction.ts";
import { EMPTY_STATE, type State } from "./engine.ts";

const MINUTE = 60_000;

describe("auto-compaction by size (decideBySize)", () => {
  const policy = { ageMs: 1_000, bytesMin: 100, liveShare: 0.5 };
  const base: State = { ...EMPTY_STATE, revision: 110, compactRevision: 10 };
  const rows: {
    name: string;
    state: Partial<State>;
    swept?: boolean;
    want: number | undefined;
  }[] = [
    { name: "history within the limit is kept", state: { historyBytes: 100 }, want: undefined },
    { name: "history over the limit is halved", state: { historyBytes: 101 }, want: 60 },
    {
      name: "the limit grows with the live data",
      state: { historyBytes: 101, liveBytes: 202 },
      want: undefined,
    },
    {
      name: "nothing more is compacted before the last compaction is swept",
      state: { historyBytes: 101 },
      swept: false,
      want: undefined,
    },
  ];
  for (const { name, state, swept = true, want } of rows) {
    test(name, () => assert.equal(decideBySize({ ...base, ...state }, swept, policy), want));
  }
});

test("auto-compaction: history is kept for five minutes and little longer; then the store sets no timer", async () => {
  using clock = new VirtualClock();
  await using store = createMemoryStore({ clock });
  await store.put("a", bytes("1"));
  await clock.advance(MINUTE);
  await store.put("a", bytes("2"));
  await clock.advance(4 * MINUTE);
  assert.equal((await store.get("a", { atRevision: 2 })).entry?.version, 1);
  await clock.advance(2 * MINUTE);
  await rejects(store.get("a", { atRevision: 2 }), "Compacted");
  assert.equal((await store.get("a", { atRevision: 3 })).entry?.version, 2);
  await clock.advance(MINUTE);
  assert.equal(clock.pendingTimers, 0, "nothing is left to give up");
  await store.put("a", bytes("3"));
  assert.equal(clock.pendingTimers, 1);
});

test("auto-compaction: a burst of writes cannot make history too big", async () => {
  using clock = new VirtualClock();
  const history = { ...DEFAULT_HISTORY, bytesMin: 200_000 };
  await using store = createMemoryStore({ clock, history });
  const value = new Uint8Array(1_000);
  for (let index = 0; index < 2_000; index++) await store.put(`k${index % 50}`, value);
  const { compactRevision } = await rejects(store.get("k0", { atRevision: 1 }), "Compacted");
  assert.ok(compactRevision > 1_700, `only up to ${compactRevision} of 2,001`);
});

test("auto-compaction: history limited by size only is kept whatever its age, without a timer", async () => {
  using clock = new VirtualClock();
  const history = { ageMs: Number.POSITIVE_INFINITY, bytesMin: 200_000, liveShare: 0 };
  await using store = createMemoryStore({ clock, history });
  await store.put("a", bytes("1"));
  await store.put("a", bytes("2"));
  assert.equal(clock.pendingTimers, 0);
  await clock.advance(1_000 * 24 * 60 * MINUTE);
  assert.equal((await store.get("a", { atRevision: 2 })).entry?.version, 1);
});
