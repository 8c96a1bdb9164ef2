/**
 * Saves snapshots into a folder, once or periodically, and keeps the latest. A failure is logged and
 * does not end the schedule.
 */
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "#lib/caught.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { SnapshotSummary } from "#store/contract.ts";
import { snapshotName, tooMany } from "./snapshot-files.ts";

export interface SaveOptions {
  readonly folder: string;
  /** How many of the folder's snapshots stay; all unless given. */
  readonly keep?: number | undefined;
  readonly everyMs?: number | undefined;
  readonly clock: Clock;
  /** Writes a snapshot of the store to a file. */
  save(path: string, signal: AbortSignal): Promise<SnapshotSummary>;
  /** For the person who looks on. */
  say(text: string): void;
  complain(text: string): void;
}

export async function saveIntoFolder(options: SaveOptions, signal: AbortSignal): Promise<void> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  if (options.everyMs === undefined) {
    await saveOnce(options, signal);
    return;
  }
  while (!signal.aborted) {
    try {
      await saveOnce(options, signal);
    } catch (error) {
      if (signal.aborted) return;
      options.complain(`no snapshot this time: ${messageOf(error)}`);
    }
    await options.clock.sleep(options.everyMs, signal).catch(() => undefined);
  }
}

async function saveOnce(options: SaveOptions, signal: AbortSignal): Promise<void> {
  const { folder, keep, clock, save, say } = options;
  const startMs = clock.nowMs();
  const unnamed = join(folder, `.saving-${process.pid}`); // the revision is known when it is written
  const summary = await save(unnamed, signal);
  const file = join(folder, snapshotName(startMs, summary.revision));
  renameSync(unnamed, file);
  say(describeSummary(file, summary));
  if (keep === undefined) return;
  for (const name of tooMany(readdirSync(folder), keep)) {
    rmSync(join(folder, name));
    say(`removed ${join(folder, name)}`);
  }
}

export function describeSummary(
  file: string,
  { revision, keys, bytes, sha256 }: SnapshotSummary,
): string {
  return `${file}: revision ${revision}, ${keys} keys, ${bytes} bytes, SHA-256 ${sha256}`;
}
