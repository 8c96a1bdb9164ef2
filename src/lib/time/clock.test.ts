import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Clock } from "./clock.ts";
import { systemClock } from "./system-clock.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** The same promises for both clocks; `pass` lets a few milliseconds go by. */
const clocks: { name: string; create(): { clock: Clock; pass(ms: number): Promise<void> } }[] = [
  {
    name: "system",
    create: () => ({ clock: systemClock, pass: (ms) => systemClock.sleep(ms + 5) }),
  },
  {
    name: "virtual",
    create: () => {
      const clock = new VirtualClock();
      return { clock, pass: (ms) => clock.advance(ms) };
    },
  },
];

for (const { name, create } of clocks) {
  describe(`Clock: ${name} clock`, () => {
    test("schedule never runs synchronously, then runs once", async () => {
      const { clock, pass } = create();
      let ran = 0;
      clock.schedule(0, () => {
        ran += 1;
      });
      assert.equal(ran, 0);
      await pass(1);
      await pass(1);
      assert.equal(ran, 1);
    });

    test("a cancelled task never runs; cancelling twice is allowed", async () => {
      const { clock, pass } = create();
      const timer = clock.schedule(1, () => assert.fail("ran"));
      timer.cancel();
      timer.cancel();
      await pass(2);
    });

    test("sleep rejects with the signal's reason, at once if it has aborted", async () => {
      const { clock } = create();
      const reason = new Error("enough");
      const controller = new AbortController();
      const sleeping = clock.sleep(1e9, controller.signal);
      controller.abort(reason);
      await assert.rejects(sleeping, reason);
      await assert.rejects(clock.sleep(1e9, controller.signal), reason);
    });

    test("elapsedMs grows with time", async () => {
      const { clock, pass } = create();
      const before = clock.elapsedMs();
      await pass(3);
      assert.ok(clock.elapsedMs() - before >= 2.5);
    });
  });
}

test("Clock: system clock: a delay beyond the timer's range does not fire at once", async () => {
  const timer = systemClock.schedule(2 ** 31 + 1000, () => assert.fail("fired"));
  await systemClock.sleep(5);
  timer.cancel();
});
