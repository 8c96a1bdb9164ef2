import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { CoalescedRead } from "./coalesced-read.ts";
import { type Deferred, deferred } from "./deferred.ts";

/** Reads that the test resolves. */
function reads() {
  const started: Deferred<string>[] = [];
  const shared = new CoalescedRead(() => {
    const read = deferred<string>();
    started.push(read);
    return read.promise;
  });
  return { shared, started };
}

describe("CoalescedRead", () => {
  test("callers during a read share the next one, which begins after it", async () => {
    const { shared, started } = reads();
    const first = shared.ask();
    const later = [shared.ask(), shared.ask(), shared.ask()];
    assert.equal(started.length, 1);
    started[0]!.resolve("old");
    assert.equal(await first, "old");
    await settled();
    assert.equal(started.length, 2);
    const latest = shared.ask();
    started[1]!.resolve("new");
    assert.deepEqual(await Promise.all(later), ["new", "new", "new"]);
    await settled();
    started[2]!.resolve("newest");
    assert.equal(await latest, "newest");
  });

  test("a failed read rejects for the callers that share it, not for later ones", async () => {
    const { shared, started } = reads();
    const first = shared.ask();
    const later = shared.ask();
    started[0]!.reject(new Error("gone"));
    await assert.rejects(first, /gone/);
    await settled();
    started[1]!.resolve("back");
    assert.equal(await later, "back");
    const again = shared.ask();
    started[2]!.resolve("still there");
    assert.equal(await again, "still there");
  });
});

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
