/**
 * Writes the protobuf wire format from the end to the start, so that a message's length is known
 * when its turn comes and nothing is measured beforehand. Generated encoders (proto-encoder.ts)
 * therefore write fields from the highest number down, lists and maps from their last item.
 */
const INITIAL_BYTES = 16 * 1024;
/** A writer that had to grow beyond this is not kept. */
const KEPT_BYTES_MAX = 256 * 1024;

const utf8 = new TextEncoder();

export class ProtoWriter {
  #bytes = new Uint8Array(INITIAL_BYTES);
  /** Index of the first byte written. */
  #at = INITIAL_BYTES;

  /** Bytes written so far: the mark from which a message's length is counted. */
  get size(): number {
    return this.#bytes.length - this.#at;
  }

  /** What was written, as bytes of its own. The writer is empty afterwards. */
  finish(): Uint8Array {
    const written = Buffer.allocUnsafe(this.size);
    written.set(this.#bytes.subarray(this.#at));
    this.clear();
    return written;
  }

  clear(): void {
    if (this.#bytes.length > KEPT_BYTES_MAX) this.#bytes = new Uint8Array(INITIAL_BYTES);
    this.#at = this.#bytes.length;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[--this.#at] = value;
  }

  /** The low 32 bits, unsigned: tags and lengths. */
  uint32(value: number): void {
    if (value < 0x80) {
      this.byte(value);
      return;
    }
    const length = value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    this.#reserve(length);
    this.#at -= length;
    let i = this.#at;
    for (; value > 0x7f; value >>>= 7) this.#bytes[i++] = (value & 0x7f) | 0x80;
    this.#bytes[i] = value;
  }

  /** int32, int64 and bool: negative numbers take ten bytes. */
  varint(value: number | bigint | boolean): void {
    const number = Number(value);
    if (number >= 0 && number <= 0xffffffff) {
      this.uint32(number);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes: number[] = [];
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    this.raw(bytes);
  }

  float64(value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    new DataView(this.#bytes.buffer, this.#at, 8).setFloat64(0, value, true);
  }

  /** The bytes of the text, without a length. */
  text(value: string): void {
    const { length } = value;
    this.#reserve(length);
    let at = this.#at;
    const bytes = this.#bytes;
    for (let i = length - 1; i >= 0; i--) {
      const code = value.charCodeAt(i);
      if (code >= 0x80) {
        this.raw(utf8.encode(value));
        return;
      }
      bytes[--at] = code;
    }
    this.#at = at;
  }

  raw(value: ArrayLike<number>): void {
    this.#reserve(value.length);
    this.#at -= value.length;
    this.#bytes.set(value, this.#at);
  }

  #reserve(count: number): void {
    if (count <= this.#at) return;
    const { size } = this;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, size + count));
    grown.set(this.#bytes.subarray(this.#at), grown.length - size);
    this.#bytes = grown;
    this.#at = grown.length - size;
  }
}
