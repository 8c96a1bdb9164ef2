/**
 * A short life of an embedded store, to be watched by strace: groups of writes of several sizes,
 * deletes, compaction. Notes in a file, by a system call each, what was acknowledged.
 *   node --import tsx power-writer.ts DIRECTORY FILE SEED
 */
import { openSync, writeSync } from "node:fs";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { wholeValue } from "./crash-values.ts";

const [directory = "", file = "", seed = "1"] = process.argv.slice(2);
const KEYS = 40;
const ROUNDS = 60;
const SIZES = [10, 500, 2_500, 2_500, 6_000];

const random = seededRandom(Number(seed));
const notes = openSync(file, "a");
const history = { ageMs: 60_000, bytesMin: 60_000, liveShare: 0.1 };
await using store = await openEmbeddedStore({ directory, clock: systemClock, history });

let number = 0;
for (let round = 0; round < ROUNDS; round++) {
  const width = [1, 1, 2, 8][random.integer(4)]!;
  await Promise.all(Array.from({ length: width }, () => write(`/k/${random.integer(KEYS)}`)));
}

/** Numbers only grow, so a key's number identifies its write. */
async function write(key: string): Promise<void> {
  number += 1;
  const mine = number;
  if (random.next() < 0.1) {
    const answer = await store.delete(key);
    if (answer.ok) writeSync(notes, `delete ${key} ${mine} ${answer.revision}\n`);
    return;
  }
  const value = wholeValue(mine, SIZES[random.integer(SIZES.length)]!);
  const { revision } = await store.put(key, value);
  writeSync(notes, `put ${key} ${mine} ${revision}\n`);
}
