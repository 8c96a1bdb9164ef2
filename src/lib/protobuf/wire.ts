/** The protobuf wire format: varints, lengths and doubles; 32-bit fixed fields are skipped. */

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

const decoder = new TextDecoder();
const ROOM_BYTES = 128;
const VARINT_BYTES_MAX = 10;

/** Collects the fields of one message in one buffer that grows. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(ROOM_BYTES);
  #length = 0;

  varint(field: number, value: bigint | number): void {
    this.#number(field * 8 + VARINT);
    if (typeof value === "number" && value >= 0) this.#number(value);
    else this.#bigint(BigInt.asUintN(64, BigInt(value)));
  }

  bytes(field: number, value: Uint8Array): void {
    this.#number(field * 8 + DELIMITED);
    this.#number(value.length);
    this.#makeRoom(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  text(field: number, value: string): void {
    this.bytes(field, Buffer.from(value));
  }

  double(field: number, value: number): void {
    this.#number(field * 8 + FIXED64);
    this.#makeRoom(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  fixed64(field: number, value: bigint): void {
    this.#number(field * 8 + FIXED64);
    this.#makeRoom(8);
    this.#length = this.#bytes.writeBigUInt64LE(value, this.#length);
  }

  /** A repeated integer; nothing is written for an empty list. */
  packed(field: number, values: readonly number[]): void {
    if (values.length === 0) return;
    const packed = new WireWriter();
    for (const value of values) {
      if (value >= 0) packed.#number(value);
      else packed.#bigint(BigInt.asUintN(64, BigInt(value)));
    }
    this.bytes(field, packed.finish());
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A varint of a safe integer that is not negative. */
  #number(value: number): void {
    this.#makeRoom(VARINT_BYTES_MAX);
    let rest = value;
    while (rest >= 128) {
      this.#bytes[this.#length++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#length++] = rest;
  }

  #bigint(value: bigint): void {
    this.#makeRoom(VARINT_BYTES_MAX);
    let rest = value;
    while (rest >= 128n) {
      this.#bytes[this.#length++] = Number(rest & 127n) + 128;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }

  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed + ROOM_BYTES, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

export interface WireField {
  readonly number: number;
  /** Of a varint: a number if it is below 2^49. */
  readonly value: number | bigint;
  /** Of anything that has a length; a part of the message, not a copy. */
  readonly bytes: Uint8Array;
}

/** Takes the fields of a message in the order in which they stand. Throws RangeError if it is cut short. */
export function readFields(message: Uint8Array, take: (field: WireField) => void): void {
  const reader = new WireReader(message);
  while (!reader.atEnd) {
    const tag = Number(reader.varint());
    const number = tag >>> 3;
    const kind = tag & 7;
    if (kind === VARINT) take({ number, value: reader.varint(), bytes: NOTHING });
    else if (kind === DELIMITED) {
      take({ number, value: 0, bytes: reader.take(Number(reader.varint())) });
    } else if (kind === FIXED64) take({ number, value: 0, bytes: reader.take(8) });
    else if (kind === FIXED32) reader.take(4);
    else throw new RangeError(`a field of wire type ${kind}`);
  }
}

export function* packedVarints(bytes: Uint8Array): Generator<number | bigint, void> {
  const reader = new WireReader(bytes);
  while (!reader.atEnd) yield reader.varint();
}

export function doubleOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
}

export function fixed64Of(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
}

export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

const NOTHING = new Uint8Array();

class WireReader {
  readonly #message: Uint8Array;
  #offset = 0;

  constructor(message: Uint8Array) {
    this.#message = message;
  }

  get atEnd(): boolean {
    return this.#offset >= this.#message.length;
  }

  take(length: number): Uint8Array {
    const end = this.#offset + length;
    if (end > this.#message.length) throw new RangeError("the message is cut short");
    const bytes = this.#message.subarray(this.#offset, end);
    this.#offset = end;
    return bytes;
  }

  /** The lower 49 bits are read as a number: few varints are longer, and bigints are slow. */
  varint(): number | bigint {
    let low = 0;
    let factor = 1;
    for (let bytes = 0; bytes < 7; bytes++) {
      const byte = this.#byte();
      low += (byte & 0x7f) * factor;
      if (byte < 0x80) return low;
      factor *= 128;
    }
    let value = BigInt(low);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a varint of more than ten bytes");
  }

  #byte(): number {
    const byte = this.#message[this.#offset];
    if (byte === undefined) throw new RangeError("the message is cut short");
    this.#offset += 1;
    return byte;
  }
}
