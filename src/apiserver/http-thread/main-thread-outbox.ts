/** Messages from the main thread to the HTTP thread. A chunk for many clients is one message. */
import type { ChunkBytes } from "../response/byte-chunk.ts";
import type { FromMainThread } from "./messages.ts";
import { Outbox } from "./outbox.ts";

export class MainThreadOutbox extends Outbox<FromMainThread> {
  /** The last message, if it is a shared chunk to which more receivers can be added. */
  #shared: { readonly bytes: ChunkBytes; readonly ids: number[] } | undefined;

  override put(message: FromMainThread): void {
    this.#shared = undefined;
    super.put(message);
  }

  putChunk(id: number, bytes: ChunkBytes): void {
    if (this.#shared?.bytes === bytes && this.waiting) {
      this.#shared.ids.push(id);
      return;
    }
    const ids = [id];
    this.put({ form: "shared chunk", ids, chunk: this.add(bytes.chunk) });
    this.#shared = { bytes, ids };
  }
}
