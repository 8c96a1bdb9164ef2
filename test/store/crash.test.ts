/**
 * kill -9 in the middle of writes, again and again on one growing store: what was acknowledged is
 * there, nothing is half there, revisions go on. 20 kills, 200 with K8TS_NIGHTLY=1.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/system-clock.ts";
import { type Store, StoreError } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { numberIn, pairKeys } from "./crash-values.ts";

const KILLS = process.env.K8TS_NIGHTLY === "1" ? 200 : 20;
const WRITER = fileURLToPath(new URL("./crash-writer.ts", import.meta.url));

interface Acknowledged {
  readonly number: number;
  readonly revision: number;
}

test(`an embedded store killed ${KILLS} times loses nothing`, {
  timeout: KILLS * 10_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-crash-"));
  const random = seededRandom(Number(process.env.K8TS_SEED ?? 1));
  let total = 0;
  let last = new Map<number, Acknowledged>();
  for (let kill = 0; kill < KILLS; kill++) {
    const { acknowledged, lines } = await writeUntilKilled(directory, 10 + random.integer(250));
    total += lines;
    await using store = await openEmbeddedStore({ directory, clock: systemClock });
    last = await inspect(store, new Map([...last, ...acknowledged]));
  }
  assert.ok(total > KILLS * 20, `only ${total} writes were acknowledged in ${KILLS} rounds`);
  rmSync(directory, { recursive: true });
});

test("a second process is told who has the data directory", async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-owner-"));
  const notes = `${directory}.notes`;
  const writer = startWriter(directory, notes);
  await writer.writing;
  const opening = openEmbeddedStore({ directory, clock: systemClock });
  await assert.rejects(opening, (error: unknown) => {
    assert.ok(error instanceof StoreError);
    assert.equal(error.problem.code, "InUse");
    assert.match(error.message, new RegExp(`${directory} is in use by process ${writer.pid}$`));
    return true;
  });
  await writer.kill();
  await using store = await openEmbeddedStore({ directory, clock: systemClock });
  await assert.rejects(
    openEmbeddedStore({ directory, clock: systemClock }),
    /in use by this process/,
  );
  assert.ok((await store.currentRevision()) >= 1);
  rmSync(notes);
  rmSync(directory, { recursive: true });
});

interface Writer {
  readonly pid: number | undefined;
  readonly writing: Promise<unknown>;
  kill(): Promise<void>;
}

function startWriter(directory: string, notes: string): Writer {
  const args = ["--import", "tsx", WRITER, directory, notes];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  return {
    pid: child.pid,
    writing: Promise.race([once(child.stdout, "data"), closed]),
    async kill() {
      assert.equal(child.exitCode, null, "the writer ended by itself");
      child.kill("SIGKILL");
      await closed;
    },
  };
}

/** Lets it write for a while. */
async function writeUntilKilled(
  directory: string,
  afterMs: number,
): Promise<{ acknowledged: Map<number, Acknowledged>; lines: number }> {
  const notes = `${directory}.notes`;
  const writer = startWriter(directory, notes);
  await writer.writing;
  await sleep(afterMs);
  await writer.kill();
  const acknowledged = new Map<number, Acknowledged>();
  const lines = readFileSync(notes, "utf8").split("\n").slice(0, -1);
  for (const line of lines) {
    const [name, number, revision] = line.split(" ").map(Number) as [number, number, number];
    acknowledged.set(name, { number, revision });
  }
  rmSync(notes);
  return { acknowledged, lines: lines.length };
}

/** Tells what it found: as good as acknowledged in the next round. */
async function inspect(
  store: Store,
  acknowledged: Map<number, Acknowledged>,
): Promise<Map<number, Acknowledged>> {
  const current = await store.currentRevision();
  const inspected = new Map<number, Acknowledged>();
  for (const [writer, { number, revision }] of acknowledged) {
    const [left, right] = await Promise.all(pairKeys(writer).map((key) => store.get(key)));
    const found = numberIn(left?.entry?.value);
    assert.equal(numberIn(right?.entry?.value), found, `both halves of pair ${writer}`);
    assert.equal(left?.entry?.modRevision, right?.entry?.modRevision, "in one transaction");
    // The one that was under way when the kill came may be there, whole.
    assert.ok(
      found === number || found === number + 1,
      `pair ${writer}: ${number} acknowledged, ${found} found`,
    );
    if (found === number) assert.equal(left?.entry?.modRevision, revision);
    assert.ok(revision <= current);
    inspected.set(writer, { number: found, revision: left!.entry!.modRevision });
  }
  await inspectHistory(store, current);
  const answer = await store.put("/inspected", Buffer.from("1"));
  assert.deepEqual(answer, { ok: true, revision: current + 1 }, "revisions go on");
  return inspected;
}

/** Each revision since the last compaction is there once, and its values are whole. */
async function inspectHistory(store: Store, current: number): Promise<void> {
  const abort = new AbortController();
  const seen = new Set<number>();
  const follow = (fromRevision: number): Promise<void> =>
    store.watch("", { fromRevision, signal: abort.signal }).deliverTo(({ revision, events }) => {
      for (const event of events) {
        seen.add(event.revision);
        if (event.type === "put" && event.key.startsWith("/pair/")) numberIn(event.value);
      }
      if (revision >= current) abort.abort();
    });
  let from = 2; // an empty store is at revision 1
  try {
    await follow(from);
  } catch (error) {
    if (!(error instanceof StoreError) || error.problem.code !== "Compacted") throw error;
    from = error.problem.compactRevision + 1;
    if (from <= current) await follow(from);
  }
  assert.equal(seen.size, current - from + 1, `revisions ${from} to ${current}`);
}
