import assert from "node:assert/strict";
import { test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { finish, type Steps } from "./steps.ts";
import { WorkPace } from "./work-pace.ts";

test("WorkPace: short work does not rest, long work rests until a later turn", async () => {
  let nowMs = 0;
  const pace = new WorkPace({ elapsedMs: () => nowMs });
  nowMs = 4;
  assert.equal(pace.isDue, false);
  nowMs = 50;
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  assert.equal(pace.isDue, true);
  const rest = pace.rest();
  assert.ok(rest !== undefined);
  await rest;
  assert.ok(turned);
  assert.equal(pace.isDue, false);
});

test("WorkPace: a timer runs between the steps of long work", async () => {
  const pace = new WorkPace(systemClock);
  let ran = 0;
  const timer = setInterval(() => {
    ran += 1;
  }, 1);
  for (let step = 0; step < 10; step++) {
    const endMs = performance.now() + 10;
    while (performance.now() < endMs);
    if (pace.isDue) await pace.rest();
  }
  clearInterval(timer);
  assert.ok(ran >= 5, `${ran}`);
});

test("WorkPace: there are no rests on the virtual clock", () => {
  const pace = new WorkPace(new VirtualClock("2030-01-01T00:00:00Z"));
  assert.equal(pace.isDue, false);
});

test("WorkPace: run rests between steps that take long, and returns what the steps return", async () => {
  let nowMs = 0;
  const pace = new WorkPace({ elapsedMs: () => nowMs });
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (turns < 3) setImmediate(count);
  };
  setImmediate(count);
  function* steps(): Steps<string> {
    for (let step = 0; step < 3; step++) {
      nowMs += 50;
      yield;
    }
    return `after ${turns} turns`;
  }
  assert.equal(finish(steps()), "after 0 turns");
  assert.equal(await pace.run(steps()), "after 3 turns");
});
