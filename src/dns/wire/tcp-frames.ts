/**
 * Messages in a TCP stream: each has its length before it. What has come of the next one is kept in
 * pieces until it is complete, so that a message in many small pieces costs no more than in one.
 */
const LENGTH_BYTES = 2;

export class TcpFrames {
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** The messages that are complete with these bytes. */
  push(piece: Buffer): Buffer[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    const messages: Buffer[] = [];
    for (;;) {
      if (this.#bytes < LENGTH_BYTES) return messages;
      if (this.#pieces[0]!.length < LENGTH_BYTES) this.#join();
      const end = LENGTH_BYTES + this.#pieces[0]!.readUInt16BE(0);
      if (this.#bytes < end) return messages;
      const all = this.#join();
      messages.push(all.subarray(LENGTH_BYTES, end));
      this.#pieces = [all.subarray(end)];
      this.#bytes -= end;
    }
  }

  #join(): Buffer {
    const all = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    this.#pieces = [all];
    return all;
  }
}

export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
  framed.writeUInt16BE(message.length, 0);
  message.copy(framed, LENGTH_BYTES);
  return framed;
}
