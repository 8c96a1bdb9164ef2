/**
 * Moves a cluster's data from one kind of store to another. The target must be empty; the source is
 * not changed. Keys keep their revisions in a directory; etcd gives out its own, so clients that
 * remember one have to list again, as they do after every "too old resource version".
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "#lib/time/clock.ts";
import { openPlace, restorePlace, type StorePlace } from "./store-place.ts";

export interface Copied {
  readonly keys: number;
  readonly revision: number;
}

/** A directory that a running cluster has is refused: what it writes later would be missing. */
export async function copyStore(
  from: StorePlace,
  to: StorePlace,
  clock: Clock,
  signal: AbortSignal,
): Promise<Copied> {
  // Secrets are in it: a folder that only its owner can enter.
  const folder = mkdtempSync(join(tmpdir(), "k8ts-store-copy-"));
  try {
    const file = join(folder, "snapshot");
    await using source = await openPlace(from, clock);
    const { keys, revision } = await source.snapshot(file, signal);
    await restorePlace(to, file, clock);
    return { keys, revision };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
