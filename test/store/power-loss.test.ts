/**
 * The power goes out. From the trace of a store's life, images of its file are made as a disk could
 * hold them at some moment: everything that was flushed, and of the rest a random part, torn at the
 * borders of sectors. Each image is opened: what was acknowledged before that moment is there, whole,
 * and nothing else. 25 images, 200 with K8TS_NIGHTLY=1.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import { type Random, seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { numberIn } from "./crash-values.ts";
import { type TraceEvent, traceFiles } from "./syscall-trace.ts";

const IMAGES_PER_LIFE = 25;
const LIVES = process.env.K8TS_NIGHTLY === "1" ? 8 : 1;
const SECTOR_BYTES = 512;
const WRITER = fileURLToPath(new URL("./power-writer.ts", import.meta.url));
const missing = missingProgram("strace");

describe.skipIf(missing !== undefined)(`power loss${missing ? ` (${missing})` : ""}`, () => {
  for (let seed = 1; seed <= LIVES; seed++) {
    test(`every image of a life can be opened, seed ${seed}`, { timeout: 240_000 }, async () => {
      const directory = mkdtempSync(join(tmpdir(), "k8ts-power-"));
      const events = recordLife(directory, seed);
      assertFaithful(events, readFileSync(join(directory, "store", "data.mdb")));
      const random = seededRandom(seed);
      for (let image = 0; image < IMAGES_PER_LIFE; image++) {
        // Some right at the birth of the file, the others anywhere.
        const cut = 1 + random.integer(image < 5 ? 20 : events.length);
        const target = join(directory, `image-${image}`);
        mkdirSync(target);
        const bytes = imageAt(events, cut, random);
        if (bytes.length > 0) writeFileSync(join(target, "data.mdb"), bytes);
        await inspect(target, events.slice(0, cut), `seed ${seed}, image ${image}, cut ${cut}`);
        rmSync(target, { recursive: true });
      }
      rmSync(directory, { recursive: true });
    });
  }
});

function recordLife(directory: string, seed: number): TraceEvent[] {
  const notesFile = join(directory, "notes");
  const store = join(directory, "store");
  return traceFiles({
    command: [process.execPath, "--import", "tsx", WRITER, store, notesFile, `${seed}`],
    dataFile: join(store, "data.mdb"),
    notesFile,
    output: join(directory, "trace"),
  });
}

/** The trace, all of it carried out, gives the file that is really there. */
function assertFaithful(events: readonly TraceEvent[], real: Buffer): void {
  const whole = new Image();
  for (const event of events) if (event.kind === "write") whole.write(event.offset, event.bytes);
  assert.ok(whole.bytes().equals(real), "the trace is not complete");
  assert.ok(events.filter(({ kind }) => kind === "note").length > 50);
}

function imageAt(events: readonly TraceEvent[], cut: number, random: Random): Buffer {
  const flushed = events.findLastIndex((event, index) => {
    return index < cut && event.kind === "sync" && event.done <= cut;
  });
  const image = new Image();
  for (const event of events.slice(0, cut)) {
    if (event.kind !== "write") continue;
    const { offset, bytes, durable, done } = event;
    if (done <= flushed || (durable && done <= cut)) image.write(offset, bytes);
    else image.writeTorn(offset, bytes, random);
  }
  return image.bytes();
}

async function inspect(
  directory: string,
  before: readonly TraceEvent[],
  name: string,
): Promise<void> {
  const history = { ageMs: 3_600_000, bytesMin: 2 ** 40, liveShare: 1 };
  await using store = await openEmbeddedStore({ directory, clock: systemClock, history });
  const current = await store.currentRevision();
  for (const { value } of (await store.range("")).entries) numberIn(value); // throws if half
  const acknowledged = acknowledgedIn(before);
  const atRevision = Math.max(1, ...[...acknowledged.values()].map(({ revision }) => revision));
  assert.ok(atRevision <= current, `${name}: revision ${atRevision} was acknowledged`);
  // What came later may be there too, whole: it was under way. So look at the state before it.
  const { entries } = await store.range("", { atRevision });
  const found = entries.map(({ key, value, modRevision }) => [key, numberIn(value), modRevision]);
  const wanted = [...acknowledged]
    .filter(([, { deleted }]) => !deleted)
    .map(([key, { number, revision }]) => [key, number, revision])
    .toSorted();
  assert.deepEqual(found.toSorted(), wanted, name);
  const answer = await store.put("/after", Buffer.from("1"));
  assert.deepEqual(answer, { ok: true, revision: current + 1 }, name);
}

interface Acknowledged {
  readonly number: number;
  readonly revision: number;
  readonly deleted: boolean;
}

/** The last acknowledged write of each key. */
function acknowledgedIn(events: readonly TraceEvent[]): Map<string, Acknowledged> {
  const last = new Map<string, Acknowledged>();
  for (const event of events) {
    if (event.kind !== "note") continue;
    const [op, key = "", number, revision] = event.line.split(" ");
    const noted = { number: Number(number), revision: Number(revision), deleted: op === "delete" };
    if (noted.revision > (last.get(key)?.revision ?? 0)) last.set(key, noted);
  }
  return last;
}

/** A file that grows as it is written to. */
class Image {
  /** With room to grow. */
  #memory = Buffer.alloc(2 ** 20);
  #length = 0;

  write(offset: number, bytes: Buffer): void {
    this.#length = Math.max(this.#length, offset + bytes.length);
    while (this.#length > this.#memory.length) {
      this.#memory = Buffer.concat([this.#memory, Buffer.alloc(this.#memory.length)]);
    }
    bytes.copy(this.#memory, offset);
  }

  /** Nothing of it, all of it, or some sectors. */
  writeTorn(offset: number, bytes: Buffer, random: Random): void {
    const dice = random.next();
    if (dice < 0.4) return;
    for (let start = 0; start < bytes.length; start += SECTOR_BYTES) {
      if (dice < 0.8 || random.next() < 0.5) {
        this.write(offset + start, bytes.subarray(start, start + SECTOR_BYTES));
      }
    }
  }

  bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }
}
