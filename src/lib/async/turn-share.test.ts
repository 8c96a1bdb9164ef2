import assert from "node:assert/strict";
import { test } from "vitest";
import type { Clock } from "../time/clock.ts";
import { VirtualClock } from "../time/virtual-clock.ts";
import { nextTurn } from "./next-turn.ts";
import { TurnShare } from "./turn-share.ts";

test("TurnShare: short turns are used as they are", async () => {
  const { clock, turnsOf } = spentBy();
  const turns = new TurnShare(clock, () => true);
  assert.equal(await turnsOf(turns, 8, 20), 8);
  assert.equal(turns.share, 1);
});

test("TurnShare: when everything takes six times as long, less is done in a turn", async () => {
  const { clock, turnsOf } = spentBy();
  const turns = new TurnShare(clock, () => true);
  const tookMs = await turnsOf(turns, 48, 4);
  assert.ok(tookMs > 9 && tookMs < 11, `${tookMs}`);
  assert.equal(await turnsOf(turns, 8, 20), 8, "and all of it when it is over");
});

test("TurnShare: a turn of a second is no reason to stop", async () => {
  const { clock, turnsOf } = spentBy();
  const turns = new TurnShare(clock, () => true);
  await turnsOf(turns, 1_000, 3);
  assert.equal(turns.share, 0.1);
});

test("TurnShare: with a small heap long turns change nothing", async () => {
  const { clock, spend, turnsOf } = spentBy();
  const turns = new TurnShare(clock, () => false);
  assert.equal(await turnsOf(turns, 100, 4), 100);
  assert.equal(turns.rest, undefined);
  assert.equal(turns.share, 1);
  spend(100);
  assert.equal(turns.isLate, false);
});

test("TurnShare: a turn is late after 20 ms", async () => {
  const { clock, spend, turnsOf } = spentBy();
  const turns = new TurnShare(clock, () => true);
  await turnsOf(turns, 11, 1);
  await turnsOf(turns, 1, 20);
  assert.equal(turns.share, 1);
  spend(19);
  assert.equal(turns.isLate, false);
  spend(1);
  assert.equal(turns.isLate, true);
});

test("TurnShare: with a large heap a long turn is followed by a rest of three times its length", async () => {
  const { clock, timers, turnsOf } = spentBy();
  const turns = new TurnShare(clock, () => true);
  await turnsOf(turns, 39, 1);
  assert.equal(turns.rest, undefined);
  await turnsOf(turns, 400, 1); // a quarter of it
  const { rest } = turns;
  assert.ok(rest !== undefined);
  await timers.advance(199);
  assert.ok(turns.rest !== undefined);
  await timers.advance(1);
  assert.equal(turns.rest, undefined);
  await rest;
});

test("TurnShare: there is one for a clock", () => {
  const [one, other] = [new VirtualClock(), new VirtualClock()];
  assert.equal(TurnShare.of(one), TurnShare.of(one));
  assert.notEqual(TurnShare.of(one), TurnShare.of(other));
});

/** Time that passes only by work, and timers of their own. */
function spentBy() {
  let nowMs = 0;
  const timers = new VirtualClock();
  const clock: Clock = {
    nowMs: () => nowMs,
    elapsedMs: () => nowMs,
    schedule: (delayMs, task) => timers.schedule(delayMs, task),
    sleep: (delayMs, signal) => timers.sleep(delayMs, signal),
  };
  const spend = (ms: number): void => void (nowMs += ms);
  /** Work of `ms` at a share of 1 in each turn; how long the last of so many turns took. */
  const turnsOf = async (turns: TurnShare, ms: number, count: number): Promise<number> => {
    let tookMs = 0;
    for (let turn = 0; turn < count; turn++) {
      tookMs = ms * turns.share;
      spend(tookMs);
      await nextTurn();
      await Promise.resolve();
    }
    return tookMs;
  };
  return { clock, timers, spend, turnsOf };
}
