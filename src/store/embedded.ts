/**
 * The store of a cluster on one machine: a directory, no server.
 *
 * Beyond the contract: a write is acknowledged only when it is on disk; writes that wait together
 * share a commit; the file stays within a bound of the live data; killed at any moment, the store
 * opens again with every acknowledged write; a second process gets `InUse`.
 */
import type { Clock } from "#lib/clock.ts";
import type { Store } from "./contract.ts";
import { openLmdbEngine } from "./embedded/lmdb-engine.ts";
import { DEFAULT_HISTORY, type HistoryPolicy } from "./local/auto-compaction.ts";
import { LocalStore } from "./local/local-store.ts";

export interface EmbeddedStoreOptions {
  /** Made if it is not there, readable by its owner alone. */
  readonly directory: string;
  readonly clock: Clock;
  readonly history?: HistoryPolicy;
}

export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const engine = await openLmdbEngine(options.directory);
  const store = new LocalStore(engine, { history: DEFAULT_HISTORY, ...options });
  store.start();
  return store;
}
