import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { pickAnyBest, pickBest } from "./score-nodes.ts";

describe("choice among nodes with equal scores", () => {
  const cases = [
    { totals: [5], best: 0 },
    { totals: [1, 9, 3], best: 1 },
    { totals: [7, 7, 7], best: 0 },
    // The root of the heap: 9 at place 3 sinks its parents in this order.
    { totals: [1, 2, 9, 9], best: 3 },
    { totals: [1, 9, 2, 9], best: 1 },
  ];
  for (const { totals, best } of cases) {
    test(`without extenders, ${totals}: the root of the heap, place ${best}`, () => {
      assert.equal(pickBest(totals), best);
    });
  }

  test("with extenders every node with the highest score is equally likely", () => {
    const random = seededRandom(3);
    const counts = new Map<number, number>();
    for (let n = 0; n < 3_000; n++) {
      const place = pickAnyBest([4, 8, 1, 8, 8], random);
      counts.set(place, (counts.get(place) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].sort(), [1, 3, 4]);
    for (const count of counts.values()) assert.ok(count > 850 && count < 1_150, String(count));
  });
});
