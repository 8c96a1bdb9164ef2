/**
 * Cuts a stream of bytes into units: each begins with a header of fixed length that says how long the
 * body is. HTTP/2 frames and gRPC messages have this form.
 *
 * Promises:
 * 1. Units come out whole and in order, wherever the chunks were cut.
 * 2. A unit that lies in one chunk is not copied: it is handed out as a part of the chunk.
 * 3. At most one incomplete unit is kept. `bodyLength` throws for one that is too long, before its body
 *    is waited for.
 */
export interface UnitFormat {
  readonly headerBytes: number;
  /** Reads the length of the body from the header that begins at `offset`. */
  bodyLength(bytes: Buffer, offset: number): number;
  /** One unit: its header begins at `offset`, its body ends at `end`. */
  take(bytes: Buffer, offset: number, end: number): void;
}

export class UnitSplitter {
  readonly #format: UnitFormat;
  #parts: Buffer[] = [];
  #partsBytes = 0;
  /** How many bytes of the incomplete unit must have come before it can be looked at again. */
  #wantedBytes = 0;

  constructor(format: UnitFormat) {
    this.#format = format;
  }

  /** Bytes of the incomplete unit. */
  get waitingBytes(): number {
    return this.#partsBytes;
  }

  push(chunk: Buffer): void {
    const { headerBytes } = this.#format;
    let offset = 0;
    while (this.#partsBytes > 0 && offset < chunk.length) offset = this.#complete(chunk, offset);
    while (chunk.length - offset >= headerBytes) {
      const end = offset + headerBytes + this.#format.bodyLength(chunk, offset);
      if (end > chunk.length) break;
      this.#format.take(chunk, offset, end);
      offset = end;
    }
    if (offset < chunk.length) this.#keep(chunk.subarray(offset));
  }

  /** Adds to the incomplete unit; answers where the rest of the chunk begins. */
  #complete(chunk: Buffer, offset: number): number {
    const end = Math.min(chunk.length, offset + this.#wantedBytes - this.#partsBytes);
    this.#parts.push(chunk.subarray(offset, end));
    this.#partsBytes += end - offset;
    if (this.#partsBytes < this.#wantedBytes) return end;
    const bytes = Buffer.concat(this.#parts, this.#partsBytes);
    const unitBytes = this.#format.headerBytes + this.#format.bodyLength(bytes, 0);
    if (unitBytes > bytes.length) {
      this.#parts = [bytes];
      this.#wantedBytes = unitBytes;
    } else {
      this.#parts = [];
      this.#partsBytes = 0;
      this.#format.take(bytes, 0, unitBytes);
    }
    return end;
  }

  #keep(rest: Buffer): void {
    const { headerBytes } = this.#format;
    this.#parts = [rest];
    this.#partsBytes = rest.length;
    this.#wantedBytes =
      rest.length < headerBytes ? headerBytes : headerBytes + this.#format.bodyLength(rest, 0);
  }
}
