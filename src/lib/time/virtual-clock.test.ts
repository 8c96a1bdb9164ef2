import assert from "node:assert/strict";
import { test } from "vitest";
import { nextTurn } from "../async/next-turn.ts";
import { VirtualClock } from "./virtual-clock.ts";

test("VirtualClock: starts at the given time and moves only by advance", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  assert.equal(new Date(clock.nowMs()).toISOString(), "2030-01-01T00:00:00.000Z");
  await nextTurn();
  assert.equal(clock.elapsedMs(), 0);
  await clock.advance(1500);
  assert.equal(clock.elapsedMs(), 1500);
});

test("VirtualClock: a start that is no time is refused", () => {
  assert.throws(() => new VirtualClock("yesterday"), RangeError);
});

test("VirtualClock: timers run in order of due time, then of scheduling, each at its own time", async () => {
  const clock = new VirtualClock();
  const ran: string[] = [];
  for (const [name, delay] of [
    ["b1", 20],
    ["a1", 10],
    ["b2", 20],
    ["a2", 10],
  ] as const) {
    clock.schedule(delay, () => void ran.push(`${name}@${clock.nowMs()}`));
  }
  await clock.advance(25);
  assert.deepEqual(ran, ["a1@10", "a2@10", "b1@20", "b2@20"]);
  assert.equal(clock.nowMs(), 25);
});

test("VirtualClock: tasks scheduled while advancing run in the same advance if due", async () => {
  const clock = new VirtualClock();
  const ran: number[] = [];
  const again = (): void => {
    ran.push(clock.nowMs());
    clock.schedule(10, again);
  };
  clock.schedule(10, again);
  await clock.advance(35);
  assert.deepEqual(ran, [10, 20, 30]);
  assert.equal(clock.pendingTimers, 1);
});

test("VirtualClock: a task due now that is scheduled by a task due now runs before time moves on", async () => {
  const clock = new VirtualClock();
  const ran: string[] = [];
  clock.schedule(10, () => {
    clock.schedule(0, () => void ran.push(`inner@${clock.nowMs()}`));
  });
  clock.schedule(11, () => void ran.push("later"));
  await clock.advance(20);
  assert.deepEqual(ran, ["inner@10", "later"]);
});

test("advance returns when the event loop is quiet: chains of awaits have run", async () => {
  const clock = new VirtualClock();
  const steps: number[] = [];
  void (async () => {
    for (let i = 0; i < 5; i++) {
      await clock.sleep(10);
      await nextTurn(); // work that takes a turn of the loop between two sleeps
      steps.push(clock.nowMs());
    }
  })();
  await clock.advance(50);
  assert.deepEqual(steps, [10, 20, 30, 40, 50]);
});

test("VirtualClock: a day passes in no time", async () => {
  const clock = new VirtualClock();
  let ticks = 0;
  const tick = (): void => {
    ticks += 1;
    clock.schedule(60_000, tick);
  };
  clock.schedule(60_000, tick);
  await clock.advance(24 * 3600 * 1000);
  assert.equal(ticks, 24 * 60);
});

test("VirtualClock: cannot go back", async () => {
  await assert.rejects(new VirtualClock().advance(-1), RangeError);
});

test("VirtualClock: a timer left behind fails the test that left it, and names the place", () => {
  const clock = new VirtualClock();
  clock.schedule(5, () => undefined);
  assert.throws(() => clock[Symbol.dispose](), /1 timer\(s\) left behind:\n.*virtual-clock\.test/s);
});

test("VirtualClock: a clock without timers is disposed of quietly", async () => {
  const clock = new VirtualClock();
  clock.schedule(5, () => undefined).cancel();
  clock.schedule(5, () => undefined);
  await clock.advance(5);
  assert.doesNotThrow(() => clock[Symbol.dispose]());
});
