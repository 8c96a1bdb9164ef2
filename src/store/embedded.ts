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
import { type LocalHistory, type Store, StoreError } from "./contract.ts";
import { type LmdbEngine, openLmdbEngine } from "./embedded/lmdb-engine.ts";
import { DEFAULT_HISTORY, type HistoryPolicy } from "./local/auto-compaction.ts";
import { LocalStore, type LocalStoreOptions } from "./local/local-store.ts";
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

export interface EmbeddedStore extends Store, LocalHistory {
  /**
   * A store with the same keys, history and revision that lives its own life in memory: its writes
   * never reach the disk, and are gone when it is disposed of. Making one takes about a millisecond,
   * whatever the size of the store. At most 16 are held at once; they end with their store.
   *
   * What a held fork costs: its own changes in memory, a part of the index (400 bytes for each key
   * that one of the two changes), and the disk's room for all pages that the store changes meanwhile.
   * A fork for which the file has grown by more than `growthBytesMax` is ended: its calls fail with
   * `Closed`.
   */
  fork(options?: ForkOptions): Store & LocalHistory;
}

export interface ForkOptions {
  readonly clock?: Clock;
  readonly history?: HistoryPolicy;
  readonly growthBytesMax?: number;
}

const GROWTH_BYTES_MAX = 2 ** 30;

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const engine = await openLmdbEngine(options.directory, options);
  const store = new LocalStore(engine, { history: DEFAULT_HISTORY, ...options });
  store.start();
  const forks = new Set<LocalStore>();
  const close = store[Symbol.asyncDispose].bind(store);
  return Object.assign(store, {
    fork: (changed: ForkOptions = {}) => {
      const fork = forkOf(engine, { history: DEFAULT_HISTORY, ...options, ...changed }, (ended) =>
        forks.delete(ended),
      );
      forks.add(fork);
      return fork;
    },
    [Symbol.asyncDispose]: async () => {
      for (const fork of forks) await fork[Symbol.asyncDispose]();
      await close();
    },
  });
}

function forkOf(
  engine: LmdbEngine,
  { clock, history, growthBytesMax = GROWTH_BYTES_MAX }: ForkOptions & LocalStoreOptions,
  ended: (fork: LocalStore) => void,
): LocalStore {
  const forked = engine.fork(growthBytesMax, () => {
    const why = `the fork was ended: the data file grew by more than ${growthBytesMax} bytes for it`;
    void fork.end(new StoreError({ code: "Closed" }, why));
  });
  const fork = new LocalStore(forked, { clock, history, onEnd: () => ended(fork) });
  fork.start();
  return fork;
}

/** Both of a data directory, also while another process uses it. */
export { revisionsOfDirectory as readEmbeddedRevisions } from "./embedded/read-revisions.ts";
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
