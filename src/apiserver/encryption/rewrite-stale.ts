/**
 * Writes every object of a resource again that is stored in another form than the encryption rules ask
 * for now: in plain, or with an older key. Objects themselves do not change.
 */
import type { ObjectStore } from "../storage/object-store.ts";
import type { StoredResource } from "../storage/resources.ts";

/** Resolves with the number of objects that were written. */
export async function rewriteStale(
  store: ObjectStore,
  resource: StoredResource,
  signal: AbortSignal,
): Promise<number> {
  let written = 0;
  for (const revision of store.cacheOf(resource).list(resource.prefix)) {
    if (signal.aborted) break;
    const { key, number, value } = revision;
    const result = await store.replace(resource, key, revision, value);
    // A conflict means that another client has just written the object, with the new key.
    if (!result.ok) throw new Error(result.status.message);
    if (result.value.outcome === "written" && result.value.revision.number !== number) written += 1;
  }
  return written;
}
