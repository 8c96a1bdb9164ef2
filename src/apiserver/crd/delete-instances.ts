/** Deletes all objects of a custom resource, as the end of its definition wants it. */
import type { Clock } from "#lib/time/clock.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import type { StoredResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";
import { decideDelete } from "../write/decide-delete.ts";
import { finishObject } from "../write/write-rules.ts";

export interface InstanceStore {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

/** Deletes that wait together share a commit of the store. */
const TOGETHER = 32;

/**
 * Returns how many objects are left: their finalizers hold them. `gone` is called once, after the last
 * of them was removed.
 */
export async function deleteInstances(
  { store, clock }: InstanceStore,
  stored: StoredResource,
  signal: AbortSignal,
  gone: () => void,
): Promise<number> {
  const cache = store.cacheOf(stored);
  const all = cache.list(stored.prefix);
  for (let at = 0; at < all.length; at += TOGETHER) {
    const some = all.slice(at, at + TOGETHER);
    await Promise.all(some.map((revision) => deleteOne(store, stored, revision, clock.nowMs())));
  }
  if (cache.size > 0) {
    const waiting = new AbortController();
    const observe = (): void => {
      if (cache.size > 0) return;
      waiting.abort();
      gone();
    };
    cache.observe(observe, AbortSignal.any([signal, waiting.signal]));
  }
  return cache.size;
}

async function deleteOne(
  store: ObjectStore,
  stored: StoredResource,
  first: Revision,
  nowMs: number,
): Promise<void> {
  let current: Revision | undefined = first;
  while (current !== undefined) {
    if (current.value.metadata.deletionTimestamp !== undefined) return;
    const decision = decideDelete(current.value, {}, stored.kind.deletion ?? {}, nowMs);
    const wrote = await carryOut(store, stored, current, decision);
    if (wrote === undefined) return;
    if (!wrote.ok) throw new Error(wrote.status.message);
    if (wrote.value.outcome === "written") return;
    current = wrote.value.current;
  }
}

async function carryOut(
  store: ObjectStore,
  stored: StoredResource,
  current: Revision,
  decision: ReturnType<typeof decideDelete>,
) {
  if (decision.action === "remove") return await store.remove(stored, current.key, current);
  if (decision.action === "pending") return undefined;
  const finished = finishObject(stored.kind, decision.object);
  if (!finished.ok) return finished;
  return await store.replace(stored, current.key, current, finished.value);
}
