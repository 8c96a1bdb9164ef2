/**
 * A snapshot of a data directory, also while another process has it: LMDB lets any number of
 * processes read, each as of one commit, and none waits for the other.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { nextTurn } from "#lib/async/next-turn.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type SnapshotSummary, StoreError } from "#store/contract.ts";
import { toEntry } from "#store/local/decide-write.ts";
import { writeSnapshot } from "#store/snapshot.ts";
import type { SnapshotEntry } from "#store/snapshot-format.ts";
import { checkDataFile } from "./check-file.ts";
import { rebuildFrom } from "./lmdb-engine.ts";
import { type LmdbFile, openToRead } from "./lmdb-file.ts";
import { decodeRow, encodePosition } from "./row.ts";

/** Keys that are read before other work may run. */
const KEYS_PER_TURN = 1_000;

export async function snapshotDirectory(
  directory: string,
  path: string,
  clock: Clock,
  signal?: AbortSignal,
): Promise<SnapshotSummary> {
  const data = join(directory, "data.mdb");
  if (!existsSync(data)) {
    throw new StoreError({ code: "Corrupt" }, `${directory} holds no store`);
  }
  checkDataFile(data);
  const file = openToRead(directory);
  try {
    const transaction = file.root.useReadTransaction();
    try {
      const { state, keys } = rebuildFrom(file, transaction);
      const header = { revision: state.revision, writtenAtMs: clock.nowMs() };
      const positions = keys.heads("");
      return await writeSnapshot(path, header, entriesOf(file, transaction, positions), signal);
    } finally {
      transaction.done();
    }
  } finally {
    await file.root.close();
  }
}

async function* entriesOf(
  { log, path }: LmdbFile,
  transaction: ReturnType<LmdbFile["root"]["useReadTransaction"]>,
  heads: Iterable<{ readonly key: string; readonly position: number }>,
): AsyncIterable<SnapshotEntry> {
  let read = 0;
  for (const { key, position } of heads) {
    const row = log.get(encodePosition(position), { transaction });
    if (row === undefined) {
      throw new StoreError({ code: "Corrupt" }, `${path} lacks the change of ${key}`);
    }
    const change = decodeRow(position, row);
    yield { ...toEntry(change), expiresAtMs: change.expiresAtMs };
    read += 1;
    if (read % KEYS_PER_TURN === 0) await nextTurn();
  }
}
