/**
 * Compaction: finds the rows of the log that are no longer visible, and hands them out in small
 * batches for commits to remove.
 *
 * A disk writes pages, and neighbours in the log share one. So rows are handed out in the order of
 * the log, thousands at a time, and not in the order in which they became obsolete: the same work
 * for a tenth of the pages. It follows that what a deletion replaced goes before the deletion.
 */
import {
  NO_SWEEP,
  type ObsoleteRow,
  positionOf,
  type Sweep,
  type Track,
  type View,
} from "./engine.ts";

/** Fewer rows are not worth the pages they are on. */
const DOSE_ROWS_MIN = 32;
/** Larger while idle, since no writes are delayed. */
const IDLE_DOSE_ROWS = 256;

export class Sweeper {
  #rows: readonly ObsoleteRow[] = [];
  #removed = 0;
  #tracks = 0;
  /** How many rows may be removed in return for what was written since some were. */
  #dose = 0;

  /**
   * What a commit with so many writes is to remove: the same rows again until `done` says that they
   * are gone. Twice as many as were written outruns any writer, and small doses are best, because
   * LMDB gets slow with long lists of free pages.
   */
  next({ keys }: View, compactRevision: number, writes: number): Sweep {
    if (this.#removed === this.#rows.length) {
      const tracks = keys.trail.first(positionOf(compactRevision + 1, 0));
      if (tracks.length === 0) return NO_SWEEP;
      this.#rows = obsoleteRows(tracks);
      this.#removed = 0;
      this.#tracks = tracks.length;
    }
    this.#dose = writes === 0 ? IDLE_DOSE_ROWS : this.#dose + 2 * writes;
    if (this.#dose < DOSE_ROWS_MIN) return NO_SWEEP;
    const rows = this.#rows.slice(this.#removed, this.#removed + this.#dose);
    const last = this.#removed + rows.length === this.#rows.length;
    return { rows, tracksDone: last ? this.#tracks : 0 };
  }

  done({ rows }: Sweep): void {
    if (rows.length === 0) return;
    this.#removed += rows.length;
    this.#dose = 0;
  }

  /** Whether everything that `compactRevision` overtook is gone. */
  isDone({ keys }: View, compactRevision: number): boolean {
    const { start } = keys.trail;
    return start === undefined || start >= positionOf(compactRevision + 1, 0);
  }
}

/** Of changes that were overtaken, sorted. */
export function obsoleteRows(tracks: readonly Track[]): ObsoleteRow[] {
  const rows: ObsoleteRow[] = [];
  for (const { position, previous, previousBytes, deletedKey, deletedBytes } of tracks) {
    if (previous !== 0) rows.push({ position: previous, bytes: previousBytes });
    if (deletedKey !== undefined) rows.push({ position, bytes: deletedBytes });
  }
  return rows.sort((a, b) => a.position - b.position);
}
