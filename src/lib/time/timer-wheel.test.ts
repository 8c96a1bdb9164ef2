import assert from "node:assert/strict";
import { test } from "vitest";
import { TimerWheel } from "./timer-wheel.ts";
import { VirtualClock } from "./virtual-clock.ts";

test("TimerWheel: timer wheel: keys are reported in order of their due times, with one timer for all", async () => {
  const clock = new VirtualClock(0);
  const due: string[] = [];
  const wheel = new TimerWheel<string>(clock, 10, (key) => due.push(`${key} ${clock.nowMs()}`));
  wheel.set("late", 1_000);
  wheel.set("soon", 95);
  wheel.set("soon too", 91);
  assert.equal(clock.pendingTimers, 1);
  await clock.advance(90);
  assert.deepEqual(due, []);
  await clock.advance(10);
  assert.deepEqual(due, ["soon 100", "soon too 100"]);
  await clock.advance(1_000);
  assert.deepEqual(due.slice(2), ["late 1000"]);
  assert.equal(clock.pendingTimers, 0);
});

test("TimerWheel: timer wheel: a key that is set again or cancelled is not reported at its old time", async () => {
  const clock = new VirtualClock(0);
  const due: string[] = [];
  const wheel = new TimerWheel<string>(clock, 10, (key) => due.push(`${key} ${clock.nowMs()}`));
  wheel.set("moved", 100);
  wheel.set("moved", 200);
  wheel.set("cancelled", 100);
  wheel.cancel("cancelled");
  await clock.advance(150);
  assert.deepEqual(due, []);
  await clock.advance(50);
  assert.deepEqual(due, ["moved 200"]);
  wheel.set("left", 10);
  wheel[Symbol.dispose]();
  assert.equal(clock.pendingTimers, 0);
});
