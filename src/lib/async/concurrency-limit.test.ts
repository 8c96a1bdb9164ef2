import assert from "node:assert/strict";
import { test } from "vitest";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { nextTurn } from "./next-turn.ts";

test("ConcurrencyLimit: at most so many calls run at a time, in the order of their arrival", async () => {
  const limit = new ConcurrencyLimit(2);
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  const work = async (index: number): Promise<number> => {
    begun.push(index);
    running += 1;
    most = Math.max(most, running);
    await nextTurn();
    running -= 1;
    if (index === 1) throw new Error("one fails");
    return index;
  };
  const results = await Promise.allSettled(
    [0, 1, 2, 3, 4].map((index) => limit.run(() => work(index))),
  );
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  assert.equal(most, 2);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "fulfilled", "fulfilled"],
  );
  assert.equal(await limit.run(async () => "after"), "after");
});
