import assert from "node:assert/strict";
import { test } from "vitest";
import type { Clock } from "../time/clock.ts";
import { VirtualClock } from "../time/virtual-clock.ts";
import { nextTurn } from "./next-turn.ts";
import { TimeSlice } from "./time-slice.ts";

test("TimeSlice: work beyond the slice waits for a later turn of the event loop", async () => {
  const { clock, spend } = spentBy();
  const slice = new TimeSlice(clock, 10);
  let done = 0;
  const work = async (): Promise<void> => {
    for (let step = 0; step < 50; step++) {
      await slice.over();
      spend(5);
      done += 1;
    }
  };
  const both = Promise.all([work(), work()]);
  let mostAtOnce = 0;
  while (done < 100) {
    const before = done;
    await nextTurn();
    mostAtOnce = Math.max(mostAtOnce, done - before);
  }
  await both;
  assert.ok(mostAtOnce <= 5, `${mostAtOnce} steps of 5 ms in a turn`);
});

test("TimeSlice: who waits longest goes on first", async () => {
  const { clock, spend } = spentBy();
  const slice = new TimeSlice(clock, 1);
  const order: string[] = [];
  assert.equal(slice.over(), undefined);
  spend(1);
  const waiting = ["first", "second", "third"].map(async (name) => {
    await slice.over();
    order.push(name);
    spend(1);
  });
  await Promise.all(waiting);
  assert.deepEqual(order, ["first", "second", "third"]);
});

test("TimeSlice: those who wait continue in one turn while there is time left", async () => {
  const { clock, spend } = spentBy();
  const slice = new TimeSlice(clock, 10);
  assert.equal(slice.over(), undefined);
  spend(10);
  let continued = 0;
  const waiting = Array.from({ length: 8 }, async () => {
    await slice.over();
    spend(4);
    continued += 1;
  });
  await nextTurn();
  assert.equal(continued, 3); // the third begins after 8 of 10 ms
  await Promise.all(waiting);
});

test("TimeSlice: no waits while the virtual clock stands still", () => {
  using clock = new VirtualClock();
  const slice = new TimeSlice(clock, 1);
  for (let n = 0; n < 100; n++) assert.equal(slice.over(), undefined);
});

function spentBy(): { clock: Clock; spend(ms: number): void } {
  let nowMs = 0;
  const still = new VirtualClock();
  const clock: Clock = {
    nowMs: () => nowMs,
    elapsedMs: () => nowMs,
    schedule: (delayMs, task) => still.schedule(delayMs, task),
    sleep: (delayMs, signal) => still.sleep(delayMs, signal),
  };
  return { clock, spend: (ms) => void (nowMs += ms) };
}
