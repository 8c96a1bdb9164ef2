/** The protobuf wire format: varints, lengths and doubles; 32-bit fixed fields are skipped. */

export const VARINT = 0;
export const FIXED64 = 1;
export const DELIMITED = 2;
const FIXED32 = 5;

const ROOM_BYTES = 4 * 1024;
/** A writer that had to grow beyond this is not kept. */
const KEPT_BYTES_MAX = 256 * 1024;
const VARINT_BYTES_MAX = 10;

/**
 * Writes from the end to the start, so that the length of an inner message is known when its turn comes
 * and no part is written twice: fields are written from the last one to the first, each value before
 * its tag. One writer can be used for one message after another.
 */
export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(ROOM_BYTES);
  /** Index of the first byte written. */
  #at = ROOM_BYTES;

  /** Bytes written so far: the mark from which the length of an inner message is counted. */
  get size(): number {
    return this.#bytes.length - this.#at;
  }

  /** The message as bytes of its own. The writer is empty afterwards. */
  finish(): Buffer {
    const message = Buffer.allocUnsafe(this.size);
    this.#bytes.copy(message, 0, this.#at);
    this.clear();
    return message;
  }

  clear(): void {
    if (this.#bytes.length > KEPT_BYTES_MAX) this.#bytes = Buffer.allocUnsafeSlow(ROOM_BYTES);
    this.#at = this.#bytes.length;
  }

  varint(value: bigint | number): void {
    if (typeof value === "number" && value >= 0) this.number(value);
    else this.#bigint(BigInt.asUintN(64, BigInt(value)));
  }

  /** A varint of a safe integer that is not negative: tags, lengths. */
  number(value: number): void {
    if (value < 0x80) {
      if (this.#at === 0) this.#makeRoom(1);
      this.#bytes[--this.#at] = value;
      return;
    }
    let length = 2;
    for (let rest = Math.floor(value / 0x4000); rest > 0; rest = Math.floor(rest / 0x80)) length++;
    this.#makeRoom(length);
    this.#at -= length;
    let at = this.#at;
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
      this.#bytes[at++] = (rest % 0x80) + 0x80;
    }
    this.#bytes[at] = rest;
  }

  bytes(value: Uint8Array): void {
    const { length } = value;
    this.#makeRoom(length);
    this.#at -= length;
    this.#bytes.set(value, this.#at);
    this.number(length);
  }

  text(value: string): void {
    const { length } = value;
    this.#makeRoom(length);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let index = length - 1; index >= 0; index--) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) {
        this.bytes(Buffer.from(value));
        return;
      }
      bytes[--at] = code;
    }
    this.#at = at;
    this.number(length);
  }

  double(value: number): void {
    this.#makeRoom(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
  }

  fixed64(value: bigint): void {
    this.#makeRoom(8);
    this.#at -= 8;
    this.#bytes.writeBigUInt64LE(value, this.#at);
  }

  #bigint(value: bigint): void {
    this.#makeRoom(VARINT_BYTES_MAX);
    const bytes: number[] = [];
    for (let rest = value; ; rest >>= 7n) {
      if (rest < 0x80n) {
        bytes.push(Number(rest));
        break;
      }
      bytes.push(Number(rest & 0x7fn) + 0x80);
    }
    this.#at -= bytes.length;
    this.#bytes.set(bytes, this.#at);
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#at) return;
    const { size } = this;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, size + bytes));
    this.#bytes.copy(larger, larger.length - size, this.#at);
    this.#bytes = larger;
    this.#at = larger.length - size;
  }
}

/** Reads a message and the messages in it. Throws RangeError where one is cut short. */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(message: Uint8Array) {
    this.#bytes = Buffer.isBuffer(message)
      ? message
      : Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  }

  get at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** Reads a length; answers where that many bytes end. */
  end(limit: number): number {
    const end = Number(this.varint(limit)) + this.#at;
    if (end > limit) throw cutShort();
    return end;
  }

  /** A part of the message, not a copy. */
  bytes(limit: number): Buffer {
    const end = this.end(limit);
    const start = this.#at;
    this.#at = end;
    return this.#bytes.subarray(start, end);
  }

  text(limit: number): string {
    const end = this.end(limit);
    const start = this.#at;
    this.#at = end;
    return start === end ? "" : this.#bytes.toString("utf8", start, end);
  }

  double(limit: number): number {
    return this.#bytes.readDoubleLE(this.#eight(limit));
  }

  fixed64(limit: number): bigint {
    return this.#bytes.readBigUInt64LE(this.#eight(limit));
  }

  /** An integer that is known to stay within 2^53. */
  int(limit: number): number {
    const value = this.varint(limit);
    if (typeof value === "number") return value;
    const number = Number(BigInt.asIntN(64, value));
    if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is beyond 2^53`);
    return number;
  }

  int64(limit: number): bigint {
    return BigInt.asIntN(64, BigInt(this.varint(limit)));
  }

  /** A number if it is below 2^49: few varints are longer, and bigints are slow. */
  varint(limit: number): number | bigint {
    let low = 0;
    let factor = 1;
    for (let count = 0; count < 7; count++) {
      const byte = this.#byte(limit);
      low += (byte & 0x7f) * factor;
      if (byte < 0x80) return low;
      factor *= 128;
    }
    let value = BigInt(low);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte(limit);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a varint of more than ten bytes");
  }

  /** Passes over the value of a field that is not known, or not of the known type. */
  skip(tag: number, limit: number): void {
    const wireType = tag & 7;
    if (wireType === VARINT) this.varint(limit);
    else if (wireType === DELIMITED) this.#at = this.end(limit);
    else if (wireType === FIXED64) this.#eight(limit);
    else if (wireType === FIXED32) this.#advance(4, limit);
    else throw new RangeError(`a field of wire type ${wireType}`);
  }

  #eight(limit: number): number {
    return this.#advance(8, limit);
  }

  #advance(count: number, limit: number): number {
    const start = this.#at;
    if (start + count > limit) throw cutShort();
    this.#at += count;
    return start;
  }

  #byte(limit: number): number {
    if (this.#at >= limit) throw cutShort();
    return this.#bytes[this.#at++]!;
  }
}

function cutShort(): RangeError {
  return new RangeError("the message is cut short");
}
