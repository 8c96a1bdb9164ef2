import assert from "node:assert/strict";
import { test } from "vitest";
import { Deadlines } from "./deadlines.ts";
import { VirtualClock } from "./virtual-clock.ts";

test("Deadlines: they expire in time, in any order of adding; deleted ones do not", async () => {
  using clock = new VirtualClock();
  using deadlines = new Deadlines(clock);
  const expired: string[] = [];
  const add = (name: string, atMs: number) => {
    const deadline = { atMs, expire: () => expired.push(`${name}@${clock.elapsedMs()}`) };
    deadlines.add(deadline);
    return deadline;
  };
  add("late", 300);
  add("early", 100);
  const gone = add("gone", 200);
  deadlines.delete(gone);
  await clock.advance(1_000);
  assert.deepEqual(expired, ["early@100", "late@300"]);
});

test("Deadlines: without deadlines no timer is left", () => {
  using clock = new VirtualClock(); // throws at its end if there is one
  const deadlines = new Deadlines(clock);
  const deadline = { atMs: 50, expire: () => undefined };
  deadlines.add(deadline);
  deadlines.delete(deadline);
  assert.equal(clock.elapsedMs(), 0);
});
