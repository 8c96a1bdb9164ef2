import assert from "node:assert/strict";
import { test } from "vitest";
import { deferred } from "#lib/async/deferred.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { ConcurrentStarts } from "./concurrent-starts.ts";

/** Starts so many pods; each ends when its function is called. */
function begin(starts: ConcurrentStarts, pods: number): (() => void)[] {
  return Array.from({ length: pods }, () => {
    const { promise, resolve } = deferred<void>();
    void starts.count(() => promise);
    return () => resolve();
  });
}

async function isDone(wait: Promise<void>): Promise<boolean> {
  let done = false;
  void wait.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return done;
}

test("concurrent starts: nothing waits while at most four pods are being started", async () => {
  const starts = new ConcurrentStarts(new VirtualClock());
  assert.equal(await isDone(starts.few(5_000)), true);
  begin(starts, 4);
  assert.equal(await isDone(starts.few(5_000)), true);
});

test("concurrent starts: a wait ends when all but four pods have started", async () => {
  const starts = new ConcurrentStarts(new VirtualClock());
  const ends = begin(starts, 6);
  const wait = starts.few(5_000);
  ends[0]?.();
  assert.equal(await isDone(wait), false);
  ends[1]?.();
  assert.equal(await isDone(wait), true);
});

test("concurrent starts: a wait ends after its time while many pods are being started", async () => {
  const clock = new VirtualClock();
  const starts = new ConcurrentStarts(clock);
  begin(starts, 30);
  const wait = starts.few(5_000);
  await clock.advance(4_999);
  assert.equal(await isDone(wait), false);
  await clock.advance(1);
  assert.equal(await isDone(wait), true);
});
