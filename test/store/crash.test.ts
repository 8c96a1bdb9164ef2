/**
 * kill -9 in the middle of writes, again and again on one growing store: what was acknowledged is
 * there, nothing is half there, revisions go on. 20 kills, 200 with K8TS_NIGHTLY=1.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { StoreError } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { type Acknowledged, inspect, type Notes, takeNotes } from "./crash-inspector.ts";

const KILLS = process.env.K8TS_NIGHTLY === "1" ? 200 : 20;
const WRITES_PER_KILL = 20;
const WRITER = fileURLToPath(new URL("./crash-writer.ts", import.meta.url));

test(`an embedded store killed ${KILLS} times loses nothing`, {
  timeout: KILLS * 20_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-crash-"));
  const random = seededRandom(Number(process.env.K8TS_SEED ?? 1));
  let total = 0;
  let last = new Map<number, Acknowledged>();
  // On a slow disk little is written before a kill: it is killed more often then.
  for (let kill = 0; kill < KILLS || total < KILLS * WRITES_PER_KILL; kill++) {
    const { acknowledged, lines } = await writeUntilKilled(directory, 10 + random.integer(250));
    total += lines;
    await using store = await openEmbeddedStore({ directory, clock: systemClock });
    last = await inspect(store, new Map([...last, ...acknowledged]));
  }
  rmSync(directory, { recursive: true });
});

test("embedded store: a second process is refused with the owner of the data directory", async () => {
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
async function writeUntilKilled(directory: string, afterMs: number): Promise<Notes> {
  const notes = `${directory}.notes`;
  const writer = startWriter(directory, notes);
  await writer.writing;
  await sleep(afterMs);
  await writer.kill();
  return takeNotes(notes);
}
