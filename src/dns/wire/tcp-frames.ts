/**
 * Messages in a TCP stream: each has its length before it. The chunks of the next one
 * are kept until it is complete, so that a message in many small chunks costs no more than in one.
 */
const LENGTH_BYTES = 2;

export class TcpFrames {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** The messages that are complete with these bytes. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const messages: Buffer[] = [];
    for (;;) {
      if (this.#bytes < LENGTH_BYTES) return messages;
      if (this.#chunks[0]!.length < LENGTH_BYTES) this.#join();
      const end = LENGTH_BYTES + this.#chunks[0]!.readUInt16BE(0);
      if (this.#bytes < end) return messages;
      const all = this.#join();
      messages.push(all.subarray(LENGTH_BYTES, end));
      this.#chunks = [all.subarray(end)];
      this.#bytes -= end;
    }
  }

  #join(): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH_BYTES + message.length);
  framed.writeUInt16BE(message.length, 0);
  message.copy(framed, LENGTH_BYTES);
  return framed;
}
