import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "../time/virtual-clock.ts";
import { KeyLocks } from "./key-locks.ts";

test("KeyLocks: one works at a time for a key, in the order of coming", async () => {
  using clock = new VirtualClock();
  const lines = new KeyLocks(clock, 1_000);
  const log: string[] = [];
  const work = async (key: string, name: string): Promise<void> => {
    using _turn = await lines.enter(key);
    log.push(`${name} begins`);
    await clock.sleep(10);
    log.push(`${name} ends`);
  };
  const all = Promise.all([work("k", "a"), work("k", "b"), work("other", "x"), work("k", "c")]);
  await clock.advance(30);
  await all;
  assert.deepEqual(
    log.filter((line) => !line.startsWith("x")),
    ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"],
  );
  assert.ok(log.indexOf("x begins") < log.indexOf("a ends"));
  assert.equal(lines.isBusy("k"), false);
});

test("KeyLocks: who has waited long enough goes on beside the first, the rest keep their order", async () => {
  using clock = new VirtualClock();
  const lines = new KeyLocks(clock, 100);
  const stuck = await lines.enter("k");
  const late = lines.enter("k");
  await clock.advance(50);
  const later = lines.enter("k");
  await clock.advance(50);
  (await late)[Symbol.dispose]();
  assert.ok(lines.isBusy("k"));
  stuck[Symbol.dispose]();
  (await later)[Symbol.dispose]();
  assert.equal(lines.isBusy("k"), false);
});
