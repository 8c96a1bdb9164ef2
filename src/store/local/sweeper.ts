/**
 * Compaction: finds the rows of the log that nobody can ask for any more, and hands them out in small
 * doses for commits to remove.
 *
 * A disk writes pages, and neighbours in the log share one. So rows are handed out in the order of
 * the log, thousands at a time, and not in the order in which they became obsolete: the same work
 * for a tenth of the pages. It follows that what a deletion replaced goes before the deletion.
 */
import { type ObsoleteRow, positionOf, type Track, type View } from "./engine.ts";

/** How many changes are looked at together. */
const TRACKS_MAX = 4_096;

export class Sweeper {
  #rows: readonly ObsoleteRow[] = [];
  #removed = 0;

  /** The next rows to remove: the same ones again until `remove` says that they are gone. */
  next(view: View, compactRevision: number, rowsMax: number): readonly ObsoleteRow[] {
    if (this.#removed === this.#rows.length) {
      this.#rows = obsoleteRows(view, compactRevision);
      this.#removed = 0;
    }
    return this.#rows.slice(this.#removed, this.#removed + rowsMax);
  }

  remove(rows: number): void {
    this.#removed += rows;
  }

  /** Whether everything that `compactRevision` overtook is gone. */
  isDone({ keys }: View, compactRevision: number): boolean {
    const { trailStart } = keys;
    return trailStart === undefined || trailStart >= positionOf(compactRevision + 1, 0);
  }
}

/** Of the oldest changes that were overtaken, sorted. */
export function obsoleteRows({ keys }: View, compactRevision: number): ObsoleteRow[] {
  const end = positionOf(compactRevision + 1, 0);
  const rows: ObsoleteRow[] = [];
  let tracks = 0;
  if ((keys.trailStart ?? end) >= end) return rows;
  for (const track of keys.trail()) {
    if (track.position >= end || tracks === TRACKS_MAX) break;
    tracks += 1;
    addRows(track, rows);
  }
  return rows.sort((a, b) => a.position - b.position);
}

function addRows(track: Track, rows: ObsoleteRow[]): void {
  const { position, previous, previousBytes, deletedKey, deletedBytes } = track;
  const last = deletedKey === undefined ? track : undefined;
  if (previous !== 0) rows.push({ position: previous, bytes: previousBytes, track: last });
  if (deletedKey !== undefined) rows.push({ position, bytes: deletedBytes, track });
}
