import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { Heap } from "./heap.ts";
import { OrderedMap } from "./ordered-map.ts";
import { Ring } from "./ring.ts";

describe("collections: Heap", () => {
  test("gives everything back in order, whatever the order of pushes and pops", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer(), { freq: 3 })), (operations) => {
        const heap = new Heap<number>((a, b) => a - b);
        const model: number[] = [];
        for (const value of operations) {
          if (value === null) {
            model.sort((a, b) => a - b);
            assert.equal(heap.peek(), model[0]);
            assert.equal(heap.pop(), model.shift());
          } else {
            heap.push(value);
            model.push(value);
          }
          assert.equal(heap.size, model.length);
        }
      }),
    );
  });
});

describe("collections: Ring", () => {
  test("keeps the last items, oldest first", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.integer()), (capacity, items) => {
        const ring = new Ring<number>(capacity);
        const dropped = items.map((item) => ring.push(item)).filter((item) => item !== undefined);
        assert.deepEqual([...ring], items.slice(-capacity));
        assert.deepEqual(dropped, items.slice(0, Math.max(0, items.length - capacity)));
        assert.equal(ring.at(0), items.slice(-capacity)[0]);
        assert.equal(ring.at(-1), items.at(-1));
      }),
    );
  });

  test("shift takes the oldest", () => {
    const ring = new Ring<number>(2);
    for (const item of [1, 2, 3]) ring.push(item);
    assert.deepEqual([ring.shift(), ring.shift(), ring.shift(), ring.size], [2, 3, undefined, 0]);
  });

  test("a ring without room is refused", () => {
    assert.throws(() => new Ring(0), RangeError);
  });
});

describe("OrderedMap", () => {
  test("load takes the place of all entries, in whatever order they come", () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string(), fc.nat()), { selector: ([key]) => key });
    fc.assert(
      fc.property(entries, fc.array(fc.string()), (loaded, set) => {
        const map = OrderedMap.byString<number>();
        map.set("before", 1);
        map.setSoon("soon", 2);
        map.load(loaded);
        for (const key of set) map.set(key, -1);
        const model = new Map([...loaded, ...set.map((key): [string, number] => [key, -1])]);
        assert.deepEqual(
          [...map.entriesFrom()],
          [...model].sort(([a], [b]) => (a < b ? -1 : 1)),
        );
        assert.equal(map.size, model.size);
      }),
    );
  });

  test("behaves as a sorted map, and a fork lives its own life", () => {
    const operation = fc.record({
      key: fc.string({ maxLength: 3 }),
      value: fc.option(fc.nat()),
      soon: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(operation), fc.array(operation), (before, after) => {
        const map = OrderedMap.byString<number>();
        const model = new Map<string, number>();
        for (const each of before) apply(map, model, each);
        const fork = map.fork();
        const frozen = entriesOf(model);
        for (const each of after) apply(map, model, each);
        assert.deepEqual([...map.entriesFrom()], entriesOf(model));
        assert.deepEqual([...fork.entriesFrom()], frozen);
        assert.equal(map.size, model.size);
      }),
    );
  });

  test("gives and counts what is between two keys", () => {
    const key = fc.string({ maxLength: 2 });
    fc.assert(
      fc.property(fc.array(key), key, key, fc.nat({ max: 5 }), (keys, low, high, countMax) => {
        const map = OrderedMap.byString<string>();
        for (const each of keys) map.setSoon(each, `value of ${each}`);
        const want = [...new Set(keys)].filter((each) => low <= each && each < high).sort();
        const values = want.map((each) => `value of ${each}`);
        assert.deepEqual(map.valuesBetween(low, high), values);
        assert.deepEqual(map.valuesBetween(low, high, countMax), values.slice(0, countMax));
        assert.equal(map.countBetween(low, high), want.length);
      }),
    );
  });

  test("what is set soon is there at once, however much of it", () => {
    const map = OrderedMap.byNumber<number>();
    for (let key = 0; key < 3_000; key++) map.setSoon((key * 7) % 3_000, key);
    const keys = [...map.entriesFrom()].map(([key]) => key);
    assert.deepEqual(keys, [...new Array(3_000).keys()]);
    for (let key = 0; key < 10; key++) map.setSoon(key, -1);
    assert.deepEqual([map.get(3), map.size], [-1, 3_000]);
    map.setSoon(5_000, 0);
    map.clear();
    assert.equal(map.size, 0);
  });

  test("floor and iteration from a key find the nearest entries", () => {
    const map = OrderedMap.byNumber<string>();
    for (const key of [10, 20, 30]) map.set(key, `v${key}`);
    assert.deepEqual(map.floor(25), [20, "v20"]);
    assert.deepEqual(map.floor(20), [20, "v20"]);
    assert.equal(map.floor(5), undefined);
    assert.deepEqual(
      [...map.entriesFrom(15)].map(([key]) => key),
      [20, 30],
    );
    assert.deepEqual(
      [map.firstKey(), map.lastKey(), map.has(20), map.get(99)],
      [10, 30, true, undefined],
    );
    map.clear();
    assert.equal(map.size, 0);
  });

  function apply(
    map: OrderedMap<string, number>,
    model: Map<string, number>,
    { key, value, soon }: { key: string; value: number | null; soon: boolean },
  ): void {
    if (value === null) assert.equal(map.delete(key), model.delete(key));
    else {
      if (soon) map.setSoon(key, value);
      else map.set(key, value);
      model.set(key, value);
    }
  }

  function entriesOf(model: ReadonlyMap<string, number>): [string, number][] {
    return [...model].sort(([a], [b]) => (a < b ? -1 : 1));
  }
});
