/** Opens a store as soon as the servers that were just started answer. */
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "#lib/time/system-clock.ts";
import { type Store, StoreError } from "#store/contract.ts";
import { type EtcdOptions, openEtcdStore } from "#store/etcd.ts";

const PATIENCE_MS = 15_000;

export async function openWhenReady(
  endpoints: readonly string[],
  options: Partial<EtcdOptions> = {},
): Promise<Store> {
  const start = performance.now();
  for (;;) {
    try {
      return await openEtcdStore({ clock: systemClock, historyMs: 0, ...options, endpoints });
    } catch (error) {
      const unavailable = error instanceof StoreError && error.problem.code === "Unavailable";
      if (!unavailable || performance.now() - start > PATIENCE_MS) throw error;
      await sleep(50);
    }
  }
}
