/**
 * The embedded store beside bare LMDB and the bare disk, measured in turns within one run.
 *
 * Bare LMDB is what the library does by itself with the same settings: each writer puts its 2.5 KB
 * under one of 10,000 keys and waits until that is on disk. It keeps no revisions, no history and
 * no order, so it is a bar, not a competitor.
 *
 * Both are filled and written to in the same way before anything is measured, until the store has as
 * much history as it keeps: then it gives up as many changes as it takes, and neither file grows.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { open } from "lmdb";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Store } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "store";

const KEYS = 10_000;
const VALUE = Buffer.alloc(2_500, "x");
/** More changes than the store keeps. */
const HISTORY = 30_000;
const WIDTHS = [1, 16, 128];

export async function* run({ quick, signal, progress }: BenchOptions): AsyncIterable<Row> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-store-"));
  try {
    const emptyHeap = heapAfterCollection();
    await using store = await openEmbeddedStore({
      directory: join(directory, "store"),
      clock: systemClock,
    });
    progress("filling with 10,000 keys");
    await writeAll(KEYS, (index) => store.put(keyOf(index), VALUE));
    const heapPerKey = (heapAfterCollection() - emptyHeap) / KEYS;
    yield { name: "heap for a key of 2.5 KB", value: heapPerKey, unit: "bytes" };
    await using bare = openBare(join(directory, "bare"));
    await writeAll(KEYS, (index) => bare.put(keyOf(index), VALUE));
    progress("filling with history");
    const random = seededRandom(1);
    await writeAll(HISTORY, () => bare.put(keyOf(random.integer(KEYS)), VALUE));
    await writeAll(HISTORY, () => store.put(keyOf(random.integer(KEYS)), VALUE));
    yield* writes(store, bare, directory, { quick, signal, progress });
    yield* ranges(store, bare, { quick, signal, progress });
    yield* fanOut(store, { quick, signal, progress });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/**
 * The machine may be busy with something else: each ratio is taken within a second, then the median.
 * They take turns in going first.
 */
async function* writes(
  store: Store,
  bare: Bare,
  directory: string,
  { quick, signal, progress }: BenchOptions,
): AsyncIterable<Row> {
  const windowMs = quick ? 200 : 400;
  const rounds = quick ? 5 : 15;
  const random = seededRandom(2);
  const key = (): string => keyOf(random.integer(KEYS));
  for (const width of WIDTHS) {
    const [own, toBare, toSync]: [number[], number[], number[]] = [[], [], []];
    const ownRate = (): Promise<number> =>
      writeRate(width, windowMs, () => store.put(key(), VALUE));
    const bareRate = (): Promise<number> =>
      writeRate(width, windowMs, () => bare.put(key(), VALUE));
    for (let warmUp = 0; warmUp < 2; warmUp++) await ownRate().then(bareRate);
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      progress(`writes, ${width} at once, round ${round + 1} of ${rounds}`);
      const first = round % 2 === 0 ? await bareRate() : await ownRate();
      const second = round % 2 === 0 ? await ownRate() : await bareRate();
      const [limit, rate] = round % 2 === 0 ? [first, second] : [second, first];
      own.push(rate);
      toBare.push(rate / limit);
      toSync.push(rate / syncRate(join(directory, "sync"), windowMs / 4));
    }
    const row = { name: `durable writes, ${width} at once`, value: median(own), unit: "/s" };
    yield { ...row, ...against("bare LMDB", row.value, median(toBare)), target: 0.8 };
    yield { ...row, ...against("bare fdatasync", row.value, median(toSync)) };
  }
}

function against(limitName: string, value: number, ratio: number): Partial<Row> {
  return { limitName, ratio, limit: value / ratio };
}

async function* ranges(
  store: Store,
  bare: Bare,
  { quick, progress }: BenchOptions,
): AsyncIterable<Row> {
  progress("range");
  const own: number[] = [];
  const limit: number[] = [];
  for (let round = 0; round < (quick ? 5 : 15); round++) {
    limit.push(await tookMs(async () => bare.readAll()));
    own.push(await tookMs(() => store.range("/registry/")));
  }
  yield {
    name: "range of 10,000 values",
    value: median(own),
    unit: "ms",
    limit: median(limit),
    limitName: "bare LMDB",
  };
  const pages = await tookMs(() => store.range("/registry/", { limit: 500 }));
  yield { name: "first page of 500 of 10,000", value: pages, unit: "ms" };
}

async function* fanOut(store: Store, { quick, progress }: BenchOptions): AsyncIterable<Row> {
  progress("watch fan-out");
  const watchers = 1_000;
  const writers = 64;
  for (const [label, prefixOf] of [
    ["one prefix", () => "/registry/"],
    ["a prefix each", (watcher: number) => `/registry/pods/default/pod-${watcher}`],
  ] as const) {
    const abort = new AbortController();
    let delivered = 0;
    const watching = Array.from({ length: watchers }, (_, watcher) =>
      store
        .watch(prefixOf(watcher), { signal: abort.signal, withPrevValue: false })
        .deliverTo(({ events }) => {
          delivered += events.length;
        }),
    );
    const random = seededRandom(2);
    const durationMs = quick ? 500 : 2_000;
    const written = await writeRate(writers, durationMs, () =>
      store.put(keyOf(random.integer(KEYS)), VALUE),
    );
    abort.abort();
    await Promise.all(watching);
    const perSecond = (delivered * 1000) / durationMs;
    yield { name: `events to 1,000 watchers, ${label}`, value: perSecond, unit: "/s" };
    yield { name: `writes meanwhile, ${label}`, value: written, unit: "/s" };
  }
}

interface Bare extends AsyncDisposable {
  put(key: string, value: Uint8Array): Promise<unknown>;
  readAll(): number;
}

function openBare(path: string): Bare {
  const root = open<Uint8Array, Uint8Array>({
    path,
    overlappingSync: false,
    noMemInit: true,
    encoding: "binary",
    keyEncoding: "binary",
  });
  const table = root.openDB<Uint8Array, Uint8Array>({
    name: "table",
    encoding: "binary",
    keyEncoding: "binary",
  });
  return {
    put: (key, value) => table.put(Buffer.from(key), value),
    readAll: () => [...table.getRange()].length,
    [Symbol.asyncDispose]: () => root.close(),
  };
}

function heapAfterCollection(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function keyOf(index: number): string {
  return `/registry/pods/default/pod-${index}`;
}

/** So many writes, 128 under way at a time. */
async function writeAll(count: number, write: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) await write(next++);
  };
  await Promise.all(Array.from({ length: 128 }, writer));
}

/** Writes a second while `width` writers each have one under way. */
async function writeRate(
  width: number,
  durationMs: number,
  write: () => Promise<unknown>,
): Promise<number> {
  const start = performance.now();
  let writes = 0;
  const writer = async (): Promise<void> => {
    while (performance.now() - start < durationMs) {
      await write();
      writes += 1;
    }
  };
  await Promise.all(Array.from({ length: width }, writer));
  return (writes * 1000) / (performance.now() - start);
}

/** How often the disk can be asked to keep another 4 KB for certain. */
function syncRate(path: string, durationMs: number): number {
  const page = Buffer.alloc(4_096);
  const descriptor = openSync(path, "w");
  const start = performance.now();
  let syncs = 0;
  while (performance.now() - start < durationMs) {
    writeSync(descriptor, page);
    fdatasyncSync(descriptor);
    syncs += 1;
  }
  closeSync(descriptor);
  return (syncs * 1000) / (performance.now() - start);
}

async function tookMs(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
