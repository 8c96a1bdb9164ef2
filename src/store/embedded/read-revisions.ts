/** The history of a data directory, also while another process has it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { nextTurn } from "#lib/async/next-turn.ts";
import { type RevisionRecord, type RevisionsOptions, StoreError } from "#store/contract.ts";
import { REVISIONS_MAX, readRevisions } from "#store/local/history.ts";
import { checkDataFile } from "./check-file.ts";
import { LmdbLog, rebuildFrom } from "./lmdb-engine.ts";
import { openToRead } from "./lmdb-file.ts";

/** Changes that are read before other work may run. */
const CHANGES_PER_TURN = 64;

export async function revisionsOfDirectory(
  directory: string,
  { fromRevision = 1, limit = REVISIONS_MAX }: RevisionsOptions,
): Promise<readonly RevisionRecord[]> {
  const data = join(directory, "data.mdb");
  if (!existsSync(data)) {
    throw new StoreError({ code: "Corrupt" }, `${directory} holds no store`);
  }
  checkDataFile(data);
  const file = openToRead(directory);
  const transaction = file.root.useReadTransaction();
  try {
    const view = { ...rebuildFrom(file, transaction), log: new LmdbLog(file, transaction) };
    const reading = readRevisions(view, fromRevision, limit, CHANGES_PER_TURN);
    for (;;) {
      const step = reading.next();
      if (step.done) return step.value;
      await nextTurn();
    }
  } finally {
    transaction.done();
    await file.root.close();
  }
}
