/**
 * The store of a cluster on one machine: a directory, no server.
 *
 * Beyond the contract: a write is acknowledged only when it is on disk; writes that wait together
 * share a commit; the file stays within a bound of the live data; killed at any moment, the store
 * opens again with every acknowledged write; a second process gets `InUse`.
 */
import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "#lib/time/clock.ts";
import { type Store, StoreError } from "./contract.ts";
import { openLmdbEngine } from "./embedded/lmdb-engine.ts";
import { DEFAULT_HISTORY, type HistoryPolicy } from "./local/auto-compaction.ts";
import { LocalStore } from "./local/local-store.ts";
import { restoreInto } from "./local/restore.ts";
import { openSnapshot } from "./snapshot.ts";

export interface EmbeddedStoreOptions {
  /** Made if it is not there, readable by its owner alone. */
  readonly directory: string;
  readonly clock: Clock;
  /** Something was stored there before: `Corrupt` if the data file is missing or holds nothing. */
  readonly mustExist?: boolean;
  readonly history?: HistoryPolicy;
}

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const engine = await openLmdbEngine(options.directory, options);
  const store = new LocalStore(engine, { history: DEFAULT_HISTORY, ...options });
  store.start();
  return store;
}

/** Of a data directory, also while another process uses it. */
export { snapshotDirectory as snapshotEmbeddedStore } from "./embedded/read-snapshot.ts";

/**
 * Makes a data directory from a snapshot of any store. The directory must not be there yet; it
 * appears when all of it is on disk.
 */
export async function restoreEmbeddedStore(path: string, directory: string): Promise<void> {
  if (existsSync(directory)) {
    throw new StoreError({ code: "InUse" }, `${directory} is there already: it is not overwritten`);
  }
  const { header, entries } = await openSnapshot(path);
  const unfinished = `${directory}.restoring`;
  await rm(unfinished, { recursive: true, force: true });
  {
    await using engine = await openLmdbEngine(unfinished);
    await restoreInto(engine, header, entries);
  }
  await rename(unfinished, directory);
  await using parent = await open(dirname(directory));
  await parent.sync();
}
