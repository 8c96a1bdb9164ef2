import assert from "node:assert/strict";
import { test } from "vitest";
import { nextTurn } from "./next-turn.ts";
import { TurnShare } from "./turn-share.ts";

/** Work of `ms` at a share of 1 in each turn; how long the last of so many turns took. */
async function turnsOf(clock: { nowMs: number }, turns: TurnShare, ms: number, count: number) {
  let tookMs = 0;
  for (let turn = 0; turn < count; turn++) {
    tookMs = ms * turns.share;
    clock.nowMs += tookMs;
    await nextTurn();
    await Promise.resolve();
  }
  return tookMs;
}

test("TurnShare: short turns are used as they are", async () => {
  const clock = { nowMs: 0, elapsedMs: () => clock.nowMs };
  const turns = TurnShare.of(clock);
  assert.equal(await turnsOf(clock, turns, 8, 20), 8);
  assert.equal(turns.share, 1);
});

test("TurnShare: when everything takes six times as long, less is done in a turn", async () => {
  const clock = { nowMs: 0, elapsedMs: () => clock.nowMs };
  const turns = TurnShare.of(clock);
  const tookMs = await turnsOf(clock, turns, 48, 4);
  assert.ok(tookMs > 9 && tookMs < 11, `${tookMs}`);
  assert.equal(await turnsOf(clock, turns, 8, 20), 8, "and all of it when it is over");
});

test("TurnShare: a turn of a second is no reason to stop", async () => {
  const clock = { nowMs: 0, elapsedMs: () => clock.nowMs };
  const turns = TurnShare.of(clock);
  await turnsOf(clock, turns, 1_000, 3);
  assert.equal(turns.share, 0.1);
});

test("TurnShare: there is one for a clock", () => {
  const clock = { elapsedMs: () => 0 };
  assert.equal(TurnShare.of(clock), TurnShare.of(clock));
  assert.notEqual(TurnShare.of(clock), TurnShare.of({ elapsedMs: () => 0 }));
});
