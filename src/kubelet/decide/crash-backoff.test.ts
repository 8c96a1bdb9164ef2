import assert from "node:assert/strict";
import { test } from "vitest";
import { type BackoffEntry, decideBackoff } from "./crash-backoff.ts";

test("CrashLoopBackOff: restarts are immediate, then wait 10s, 20s … 5m; reset after ten minutes of running", () => {
  let entry: BackoffEntry | undefined;
  let nowMs = 0;
  const waits: number[] = [];
  for (let crash = 0; crash < 8; crash++) {
    let decision = decideBackoff(entry, nowMs, nowMs);
    waits.push(decision.wait ? decision.delayMs / 1000 : 0);
    if (decision.wait) {
      nowMs = decision.untilMs;
      decision = decideBackoff(entry, nowMs - decision.delayMs, nowMs);
    }
    assert.ok(!decision.wait);
    entry = decision.next;
    nowMs += 1_000;
  }
  assert.deepEqual(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
  const later = nowMs + 601_000;
  assert.equal(decideBackoff(entry, later, later).wait, false);
});
