/**
 * Writes to an embedded store as fast as it can and notes in a file what was acknowledged, until it
 * is killed. Each write is a pair of keys in one transaction.
 *   node --import tsx crash-writer.ts DIRECTORY FILE
 */
import { openSync, writeSync } from "node:fs";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { numberIn, pairKeys, wholeValue } from "./crash-values.ts";

const WRITERS = 24;
const [directory = "", file = ""] = process.argv.slice(2);
const notes = openSync(file, "a");

// So little history that compaction is always at work too.
const history = { ageMs: 300, bytesMin: 400_000, liveShare: 0.2 };
const store = await openEmbeddedStore({ directory, clock: systemClock, history });
process.stdout.write("writing\n");
await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writePairs(writer)));

async function writePairs(writer: number): Promise<never> {
  const [left, right] = pairKeys(writer);
  const { entry } = await store.get(left);
  let number = entry === undefined ? 0 : numberIn(entry.value);
  for (;;) {
    number += 1;
    const answer = await store.transact([
      { op: "put", key: left, value: wholeValue(number, 2_500) },
      { op: "put", key: right, value: wholeValue(number, 40) },
    ]);
    writeSync(notes, `${writer} ${number} ${answer.revision}\n`);
    if (number % 50 === 0) await deleteAndCreate(writer);
  }
}

async function deleteAndCreate(writer: number): Promise<void> {
  await store.put(`/scratch/${writer}`, wholeValue(0, 10));
  await store.delete(`/scratch/${writer}`);
}
