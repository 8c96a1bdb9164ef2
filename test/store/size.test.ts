/**
 * The data file stays within a bound of the live data, however often that is written.
 * 60,000 writes over 2,000 keys; 1,000,000 over 10,000 with K8TS_NIGHTLY=1.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { DEFAULT_HISTORY } from "#store/local/auto-compaction.ts";

const MB = 2 ** 20;
const SCALE =
  process.env.K8TS_NIGHTLY === "1"
    ? { writes: 1_000_000, keys: 10_000, history: DEFAULT_HISTORY, constant: 64 * MB }
    : {
        writes: 60_000,
        keys: 2_000,
        history: { ...DEFAULT_HISTORY, bytesMin: 4 * MB },
        constant: 16 * MB,
      };
const WRITERS = 256;
const SIZES = [
  { name: "2.5 KB values", bytesOf: () => 2_500 },
  { name: "values of many sizes", bytesOf: (random: () => number) => 50 + 9_000 * random() ** 3 },
];

for (const { name, bytesOf } of SIZES) {
  const { writes, keys, history, constant } = SCALE;
  test(`embedded store: the file stays bounded after ${writes} writes of ${name} over ${keys} keys`, {
    timeout: 1_800_000,
  }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "k8ts-size-"));
    const file = join(directory, "data.mdb");
    const random = seededRandom(1);
    let largest = 0;
    let liveBytes = 0;
    {
      await using store = await openEmbeddedStore({ directory, clock: systemClock, history });
      let left = writes;
      const writer = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          if (left % 5_000 === 0) largest = Math.max(largest, statSync(file).size);
          const value = Buffer.alloc(Math.floor(bytesOf(() => random.next())), "x");
          await store.put(`/registry/pods/default/pod-${random.integer(keys)}`, value);
        }
      };
      await Promise.all(Array.from({ length: WRITERS }, writer));
      const { entries } = await store.range("");
      liveBytes = entries.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
    }
    largest = Math.max(largest, statSync(file).size);
    const bound = 4 * liveBytes + constant;
    const figures = `file ${mb(largest)}, live ${mb(liveBytes)}, bound ${mb(bound)}`;
    assert.ok(largest <= bound, figures);
    process.stdout.write(`size: ${writes} writes of ${name}: ${figures}\n`);
    rmSync(directory, { recursive: true });
  });
}

test("embedded store: a file that is mostly empty is made smaller when it is opened", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-shrink-"));
  const file = join(directory, "data.mdb");
  const value = Buffer.alloc(100_000, "x");
  const open = () => openEmbeddedStore({ directory, clock: systemClock });
  {
    await using store = await open();
    const keys = Array.from({ length: 800 }, (_, index) => `/k/${index}`);
    await Promise.all(keys.map((key) => store.put(key, value)));
    await Promise.all(keys.slice(5).map((key) => store.delete(key)));
    await store.compact(await store.currentRevision());
  }
  const before = statSync(file).size;
  assert.ok(before > 70 * MB, mb(before));
  await using store = await open();
  assert.ok(statSync(file).size < 4 * MB, mb(statSync(file).size));
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal((await store.range("")).entries.length, 5);
  assert.equal((await store.put("/k/0", value)).revision, 1_597);
  rmSync(directory, { recursive: true });
});

function mb(bytes: number): string {
  return `${(bytes / MB).toFixed(1)} MB`;
}
