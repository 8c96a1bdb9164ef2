/** What the core tells the edge. What goes to many clients in one go is one message. */
import type { PieceBytes } from "../response/byte-chunk.ts";
import type { FromCore } from "./messages.ts";
import { Outbox } from "./outbox.ts";

export class CoreOutbox extends Outbox<FromCore> {
  /** The message put last, if it is one that others may join. */
  #shared: { readonly piece: PieceBytes; readonly ids: number[] } | undefined;

  override put(message: FromCore): void {
    this.#shared = undefined;
    super.put(message);
  }

  putPiece(id: number, piece: PieceBytes): void {
    if (this.#shared?.piece === piece && this.waiting) {
      this.#shared.ids.push(id);
      return;
    }
    const ids = [id];
    this.put({ form: "piece", ids, chunk: this.add(piece.chunk) });
    this.#shared = { piece, ids };
  }
}
