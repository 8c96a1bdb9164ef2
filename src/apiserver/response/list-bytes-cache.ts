/**
 * Caches the serialized items of whole lists as one buffer, shared by requests for the same list while
 * nothing in it changes: gathering a thousand items from separate buffers takes almost as long as
 * encrypting them.
 *
 * Bounded in bytes and number, and held weakly: the next full garbage collection frees unused entries.
 */
import { joined, lengthOf, type Part, whole } from "./byte-parts.ts";

/** Longer runs are not made: they would be a burden while they live. */
const BYTES_MAX = 8 * 1024 * 1024;
const ENTRIES_MAX = 64;
/** To make one pays when it is asked for several times. */
const ASKED_MIN = 3;

interface Entry {
  readonly state: string;
  asked: number;
  run: WeakRef<Buffer> | undefined;
}

export class JoinedItems {
  /** The least lately changed first. */
  readonly #entries = new Map<string, Entry>();

  /** `what` names the list and its form, `state` what is in it; undefined: it is never the same. */
  of(what: string, state: string | undefined, gather: () => readonly Part[]): readonly Part[] {
    if (state === undefined) return gather();
    const entry = this.#entryOf(what, state);
    entry.asked += 1;
    const known = entry.run?.deref();
    if (known !== undefined) return [whole(known)];
    const parts = gather();
    if (entry.asked < ASKED_MIN || lengthOf(parts) > BYTES_MAX) return parts;
    const run = joined(parts);
    entry.run = new WeakRef(run);
    return [whole(run)];
  }

  #entryOf(what: string, state: string): Entry {
    const known = this.#entries.get(what);
    if (known?.state === state) return known;
    this.#entries.delete(what);
    if (this.#entries.size >= ENTRIES_MAX) this.#entries.delete(this.#entries.keys().next().value!);
    const made: Entry = { state, asked: 0, run: undefined };
    this.#entries.set(what, made);
    return made;
  }
}
