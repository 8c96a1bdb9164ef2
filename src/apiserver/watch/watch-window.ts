/**
 * The latest changes of one resource, oldest first, numbered without gaps. Watchers are cursors
 * into it, so a slow one costs no memory of its own; one that is overtaken has to list again.
 *
 * Limits: WINDOW_CHANGES_MAX changes, and BYTES_MAX of JSON of replaced and deleted objects, which only
 * the window holds; beyond COUNT_MIN, changes older than AGE_MAX_MS are dropped too. Only the latest
 * FRAMES_MAX keep their encoded frames; a watcher that is behind encodes them again. Changes are
 * dropped only when one is added or `trim` is called.
 */
import type { Revision } from "../storage/revision.ts";

const COUNT_MIN = 128;
export const WINDOW_CHANGES_MAX = 20_000;
const BYTES_MAX = 32 * 1024 * 1024;
const AGE_MAX_MS = 75_000;
const FRAMES_MAX = 1_000;

export interface Change {
  readonly revision: number;
  readonly key: string;
  /** The object after the change; when it was deleted, its last state as of this revision. */
  readonly object: Revision;
  readonly deleted: boolean;
  readonly previous: Revision | undefined;
  /** Encoded frames, shared by all watchers that ask for the same; made by the first of them. */
  frames: Map<string, Uint8Array> | undefined;
}

interface Slot {
  readonly change: Change;
  readonly bytes: number;
  readonly atMs: number;
}

export class WatchWindow {
  #slots: (Slot | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  /** Number of the change at #head. */
  #first = 0;
  /** Everything after this revision is in the window. */
  #completeSince: number;

  constructor(completeSince: number) {
    this.#completeSince = completeSince;
  }

  /** Number that the next change will get. */
  get end(): number {
    return this.#first + this.#slots.length - this.#head;
  }

  get start(): number {
    return this.#first;
  }

  /** A watch may begin after this revision or any later one. */
  get completeSince(): number {
    return this.#completeSince;
  }

  push(change: Change, nowMs: number): void {
    const { object, previous, deleted } = change;
    const bytes = (previous?.heldBytes ?? 0) + (deleted ? object.heldBytes : 0);
    this.#slots.push({ change, bytes, atMs: nowMs });
    this.#bytes += bytes;
    const behind = this.at(this.end - 1 - FRAMES_MAX);
    if (behind !== undefined) behind.frames = undefined;
    this.trim(nowMs);
  }

  trim(nowMs: number): void {
    while (this.#mustTrim(nowMs)) this.#dropOldest();
  }

  at(number: number): Change | undefined {
    return number < this.#first
      ? undefined
      : this.#slots[this.#head + number - this.#first]?.change;
  }

  /** Number of the first change after the revision; undefined if some of them are gone. */
  numberAfter(revision: number): number | undefined {
    if (revision < this.#completeSince) return undefined;
    let low = this.#head;
    let high = this.#slots.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#slots[middle]!.change.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#first + low - this.#head;
  }

  /** Drops all changes: watches can start at this revision or later only. */
  reset(completeSince: number): void {
    this.#first = this.end + 1; // leaves a gap, so that every cursor is overtaken
    this.#slots = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#completeSince = completeSince;
  }

  #mustTrim(nowMs: number): boolean {
    const count = this.#slots.length - this.#head;
    if (count <= 1) return false;
    if (count > WINDOW_CHANGES_MAX || this.#bytes > BYTES_MAX) return true;
    return count > COUNT_MIN && nowMs - this.#slots[this.#head]!.atMs > AGE_MAX_MS;
  }

  #dropOldest(): void {
    const { change, bytes } = this.#slots[this.#head]!;
    this.#completeSince = change.revision;
    this.#bytes -= bytes;
    this.#head += 1;
    this.#first += 1;
    if (this.#head > 256 && this.#head * 2 > this.#slots.length) {
      this.#slots = this.#slots.slice(this.#head);
      this.#head = 0;
    } else {
      // The array keeps its slot but not what was in it.
      this.#slots[this.#head - 1] = undefined;
    }
  }
}
