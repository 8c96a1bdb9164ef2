/**
 * The changes that made something obsolete, oldest first: a queue. It is kept in chunks, so that a
 * fork copies only a list of them, one reference for a thousand changes.
 */
import type { Track } from "./engine.ts";

const CHUNK_TRACKS = 4_096;

export class ObsoleteChanges {
  /** None of them is empty. Only the last is ever added to, and only while no fork shares it. */
  #chunks: Track[][];
  #lastIsShared = false;

  private constructor(chunks: Track[][]) {
    this.#chunks = chunks;
  }

  static create(): ObsoleteChanges {
    return new ObsoleteChanges([]);
  }

  fork(): ObsoleteChanges {
    const fork = new ObsoleteChanges([...this.#chunks]);
    this.#lastIsShared = true;
    fork.#lastIsShared = true;
    return fork;
  }

  /** Where it begins. */
  get start(): number | undefined {
    return this.#chunks[0]?.[0]?.position;
  }

  add(track: Track): void {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.length < CHUNK_TRACKS && !this.#lastIsShared) {
      last.push(track);
      return;
    }
    this.#chunks.push([track]);
    this.#lastIsShared = false;
  }

  /** The first ones, some thousands at most, whose positions are below `end`. */
  first(end: number): readonly Track[] {
    const [chunk = []] = this.#chunks;
    const beyond = chunk.findIndex(({ position }) => position >= end);
    return beyond === -1 ? chunk : chunk.slice(0, beyond);
  }

  /** Removes the first `count`, no more than `first` returned, and returns them. */
  take(count: number): readonly Track[] {
    const [chunk = [], ...rest] = this.#chunks;
    if (count < chunk.length) {
      if (rest.length === 0) this.#lastIsShared = false;
      rest.unshift(chunk.slice(count));
    }
    this.#chunks = rest;
    return chunk.slice(0, count);
  }
}
