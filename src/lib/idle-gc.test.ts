import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { collectWhenIdle, type Heap, type IdleGcOptions, ownHeap } from "./idle-gc.ts";
import { VirtualClock } from "./time/virtual-clock.ts";

const MB = 1024 * 1024;
const LOOK_MS = 2_000;

type Sample = readonly [megabytes: number, utilization: number];

/** At which of the samples of a heap it was collected. */
async function collectedAt(
  samples: readonly Sample[],
  leftMegabytes = 40,
  options: IdleGcOptions = {},
): Promise<number[]> {
  return (await looksAt(samples, leftMegabytes, options)).collected;
}

async function restedAt(samples: readonly Sample[]): Promise<number[]> {
  return (await looksAt(samples, 40, {})).rested;
}

/** Looks at a heap as many times as there are samples. */
async function looksAt(
  samples: readonly Sample[],
  leftMegabytes: number,
  options: IdleGcOptions,
): Promise<{ readonly collected: number[]; readonly rested: number[] }> {
  const clock = new VirtualClock();
  const [collected, rested]: [number[], number[]] = [[], []];
  let look = -1;
  let left: number | undefined;
  const heap: Heap = {
    bytes: () => (left ?? samples[look]?.[0] ?? 40) * MB,
    utilization: () => samples[look]![1],
    collect: () => {
      collected.push(look);
      left = leftMegabytes;
    },
  };
  const life = new AbortController();
  collectWhenIdle(clock, heap, life.signal, { ...options, onRest: () => rested.push(look) });
  for (look = 0; look < samples.length; look++) {
    left = undefined;
    await clock.advance(options.lookEveryMs ?? LOOK_MS);
  }
  life.abort();
  return { collected, rested };
}

describe("idle GC: a heap is collected", () => {
  const rows = [
    {
      name: "when it has grown and is left alone",
      samples: [
        [160, 0.9],
        [160, 0],
        [160, 0],
      ],
      at: [2],
    },
    {
      name: "not while it is at work",
      samples: [
        [160, 0.9],
        [160, 0.5],
        [160, 0.06],
      ],
      at: [],
    },
    {
      name: "not after one quiet look",
      samples: [
        [160, 0],
        [160, 0.9],
        [160, 0],
      ],
      at: [],
    },
    {
      name: "not when everything would stand still for long: that is left to V8",
      samples: [
        [400, 0.9],
        [400, 0],
        [400, 0],
        [380, 0],
      ],
      at: [3],
    },
    {
      name: "not for a little",
      samples: [
        [60, 0],
        [60, 0],
        [60, 0],
      ],
      at: [],
    },
  ] as const;
  for (const { name, samples, at } of rows) {
    test(name, async () => assert.deepEqual(await collectedAt(samples), at));
  }

  test("quietMs: not before it has been quiet for so long, counted anew after work", async () => {
    const quiet = [160, 0] as const;
    const samples = [quiet, quiet, [160, 0.5] as const, quiet, quiet, quiet, quiet];
    assert.deepEqual(await collectedAt(samples, 40, { quietMs: 4 * LOOK_MS }), [6]);
  });

  test("lookEveryMs: two quiet looks are needed, and the second collection comes three minutes later", async () => {
    const quiet = Array.from({ length: 60 }, () => [160, 0] as const);
    const options = { quietMs: 10_000, lookEveryMs: 5_000 };
    assert.deepEqual(await collectedAt(quiet, 160, options), [1, 37]);
  });

  test("not again for what is needed", async () => {
    const quiet = Array.from({ length: 6 }, () => [160, 0] as const);
    assert.deepEqual(await collectedAt(quiet, 160), [1]);
  });

  test("once more when what was kept for a while has been let go", async () => {
    const quiet = Array.from({ length: 200 }, () => [160, 0] as const);
    assert.deepEqual(await collectedAt(quiet, 160), [1, 91]);
  });
});

describe("idle GC: onRest is called", () => {
  const work = [160, 0.9] as const;
  const rows = [
    {
      name: "at the first quiet time, with nothing to collect",
      samples: [
        [40, 0],
        [40, 0],
        [40, 0],
      ],
    },
    {
      name: "not before it has been quiet for so long",
      samples: [[40, 0], work, [40, 0], [40, 0], [40, 0]],
      at: 3,
    },
  ] as const;
  for (const row of rows) {
    test(row.name, async () => {
      assert.deepEqual(await restedAt(row.samples), ["at" in row ? row.at : 1]);
    });
  }

  test("after each collection", async () => {
    const cycle = [work, [160, 0], [160, 0], [40, 0]] as const;
    assert.deepEqual(await restedAt([[40, 0], [40, 0], ...cycle, ...cycle]), [1, 4, 8]);
  });

  test("not again without a collection", async () => {
    const quiet = Array.from({ length: 9 }, () => [40, 0] as const);
    assert.deepEqual(await restedAt([...quiet, [40, 0.9], ...quiet]), [1]);
  });
});

test("idle GC: the own heap gives its garbage back", () => {
  const heap = ownHeap();
  const held = new Map<string, object>();
  fill(held);
  heap.collect(); // it is old now
  const full = heap.bytes();
  held.clear();
  heap.collect();
  assert.ok(heap.bytes() < full - 15 * MB, `${full} → ${heap.bytes()}`);
});

/**
 * In a function of its own, so that nothing else refers to it. Several times what is asked for below:
 * other tests of this process may leave garbage behind meanwhile.
 */
function fill(held: Map<string, object>): void {
  held.set(
    "it",
    Array.from({ length: 2_000_000 }, (_, n) => ({ n, text: `${n}` })),
  );
}

test("idle GC: withBuffers counts the memory of buffers", () => {
  const [plain, counting] = [ownHeap(), ownHeap({ withBuffers: true })];
  const buffersBytes = (): number => counting.bytes() - plain.bytes();
  const before = buffersBytes();
  const buffer = Buffer.alloc(64 * MB);
  assert.ok(buffersBytes() - before > 60 * MB);
  assert.equal(buffer.length, 64 * MB);
});
