import assert from "node:assert/strict";
import { test } from "vitest";
import { VirtualClock } from "../time/virtual-clock.ts";
import { runEvery, TimeoutError, withTimeout } from "./sleep.ts";

test("runEvery: sleep leaves no listener on its signal", async () => {
  const clock = new VirtualClock();
  const { signal, added } = countingSignal();
  const sleeping = clock.sleep(10, signal);
  await clock.advance(10);
  await sleeping;
  assert.equal(added(), 0);
  clock[Symbol.dispose]();
});

test("withTimeout passes the value on and leaves nothing behind", async () => {
  const clock = new VirtualClock();
  const { signal, added } = countingSignal();
  assert.equal(await withTimeout(clock, 10, async () => 7, signal), 7);
  assert.equal(added(), 0);
  clock[Symbol.dispose]();
});

test("withTimeout rejects even if the work ignores its signal, and aborts the signal", async () => {
  const clock = new VirtualClock();
  let seen: AbortSignal | undefined;
  const result = withTimeout(clock, 10, (signal) => {
    seen = signal;
    return new Promise(() => undefined);
  });
  const rejected = assert.rejects(result, TimeoutError);
  await clock.advance(10);
  await rejected;
  assert.ok(seen?.aborted);
});

test("withTimeout ends with the caller's signal", async () => {
  const controller = new AbortController();
  const reason = new Error("stop");
  const result = withTimeout(
    new VirtualClock(),
    10,
    () => new Promise(() => undefined),
    controller.signal,
  );
  controller.abort(reason);
  await assert.rejects(result, reason);
});

test("runEvery waits for the task before the next period begins, and ends on abort", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const at: number[] = [];
  const running = runEvery(
    clock,
    10,
    async () => {
      at.push(clock.nowMs());
      await clock.sleep(5);
    },
    controller.signal,
  );
  await clock.advance(45);
  controller.abort();
  await running;
  assert.deepEqual(at, [10, 25, 40]);
  clock[Symbol.dispose]();
});

test("runEvery ends with the error of a failing task", async () => {
  const clock = new VirtualClock();
  const running = runEvery(
    clock,
    10,
    () => Promise.reject(new Error("broken")),
    new AbortController().signal,
  );
  const rejected = assert.rejects(running, /broken/);
  await clock.advance(10);
  await rejected;
});

function countingSignal(): { signal: AbortSignal; added(): number } {
  const { signal } = new AbortController();
  let count = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    count += 1;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    count -= 1;
    removeEventListener.apply(signal, args);
  };
  return { signal, added: () => count };
}
