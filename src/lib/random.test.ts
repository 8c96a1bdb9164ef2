import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { Backoff } from "./async/backoff.ts";
import { seededRandom, systemRandom } from "./random.ts";

describe("seededRandom: random", () => {
  for (const [name, random] of [
    ["system", systemRandom],
    ["seeded", seededRandom(7)],
  ] as const) {
    test(`${name}: numbers are in range and spread`, () => {
      const buckets = new Array<number>(10).fill(0);
      for (let i = 0; i < 10_000; i++) {
        const next = random.next();
        assert.ok(next >= 0 && next < 1);
        buckets[random.integer(10)]! += 1;
      }
      for (const count of buckets) assert.ok(count > 800 && count < 1200, `${buckets}`);
    });

    test(`${name}: uuids are version 4 and differ`, () => {
      const uuids = new Set(Array.from({ length: 1000 }, () => random.uuid()));
      assert.equal(uuids.size, 1000);
      for (const uuid of uuids) {
        assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      }
    });
  }

  test("the same seed gives the same numbers, another seed others", () => {
    const take = (seed: number): number[] => {
      const random = seededRandom(seed);
      return Array.from({ length: 5 }, () => random.next());
    };
    assert.deepEqual(take(1), take(1));
    assert.notDeepEqual(take(1), take(2));
  });
});

describe("backoff", () => {
  test("grows to its cap and starts over after reset", () => {
    const backoff = new Backoff({ baseMs: 5, capMs: 100, random: seededRandom(1) });
    const waits = Array.from({ length: 7 }, () => backoff.nextMs());
    assert.deepEqual(waits, [5, 10, 20, 40, 80, 100, 100]);
    assert.equal(backoff.attempts, 7);
    backoff.reset();
    assert.equal(backoff.nextMs(), 5);
  });

  test("jitter stretches by at most its share", () => {
    const backoff = new Backoff({ baseMs: 100, capMs: 100, jitter: 0.5, random: seededRandom(1) });
    const waits = Array.from({ length: 1000 }, () => backoff.nextMs());
    assert.ok(Math.min(...waits) >= 100 && Math.max(...waits) <= 150);
    assert.ok(Math.max(...waits) - Math.min(...waits) > 40);
  });
});
