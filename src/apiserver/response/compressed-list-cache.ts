/**
 * Compressed lists of whole collections, kept while nothing in them changes: compressing costs far
 * more than everything else about a list, and many clients list at the same time. Bounded by bytes.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ListText } from "./list-text.ts";

const BYTES_MAX = 32 * 1024 * 1024;
const compress = promisify(gzip);

interface Entry {
  /** Of the state that was compressed. */
  readonly state: string;
  readonly zipped: Promise<Buffer>;
  bytes: number;
}

export class ZippedLists {
  /** The least lately used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  /** `what` names the list and its form, `state` what is in it; undefined: it is not kept. */
  async of(what: string, state: string | undefined, text: ListText): Promise<Buffer> {
    if (state === undefined) return await zip(text);
    const known = this.#entries.get(what);
    if (known?.state === state) {
      this.#entries.delete(what);
      this.#entries.set(what, known);
      return await known.zipped;
    }
    if (known !== undefined) this.#drop(what, known);
    const entry: Entry = { state, zipped: zip(text), bytes: 0 };
    this.#entries.set(what, entry);
    const zipped = await entry.zipped;
    if (this.#entries.get(what) === entry) {
      entry.bytes = zipped.length;
      this.#bytes += zipped.length;
      this.#trim();
    }
    return zipped;
  }

  #drop(what: string, entry: Entry): void {
    this.#entries.delete(what);
    this.#bytes -= entry.bytes;
  }

  #trim(): void {
    for (const [what, entry] of this.#entries) {
      if (this.#bytes <= BYTES_MAX) return;
      this.#drop(what, entry);
    }
  }
}

function zip(text: ListText): Promise<Buffer> {
  return compress(text.whole(), { level: 1 });
}
