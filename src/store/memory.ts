/** A store in memory, for tests. Forking it is O(1): the copies share what neither has changed. */
import type { Clock } from "#lib/time/clock.ts";
import type { LocalHistory, Store } from "./contract.ts";
import { DEFAULT_HISTORY, type HistoryPolicy } from "./local/auto-compaction.ts";
import { LocalStore } from "./local/local-store.ts";
import { MemoryEngine } from "./local/memory-engine.ts";
import { restoreInto } from "./local/restore.ts";
import { openSnapshot } from "./snapshot.ts";

export interface MemoryStoreOptions {
  readonly clock: Clock;
  readonly history?: HistoryPolicy;
}

export interface MemoryStore extends Store, LocalHistory {
  /** A store with the same keys, history and revision that from now on lives its own life. */
  fork(options?: Partial<MemoryStoreOptions>): MemoryStore;
}

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  return onEngine(MemoryEngine.create(), options);
}

export async function restoreMemoryStore(
  path: string,
  options: MemoryStoreOptions,
): Promise<MemoryStore> {
  const engine = MemoryEngine.create();
  const { header, entries } = await openSnapshot(path);
  await restoreInto(engine, header, entries);
  return onEngine(engine, options);
}

function onEngine(engine: MemoryEngine, options: MemoryStoreOptions): MemoryStore {
  const store = new LocalStore(engine, { history: DEFAULT_HISTORY, ...options });
  store.start();
  return Object.assign(store, {
    fork: (changed?: Partial<MemoryStoreOptions>) =>
      onEngine(engine.fork(), { ...options, ...changed }),
  });
}
