/** The protobuf wire format: varints, lengths and doubles; 32-bit fixed fields are skipped. */

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Collects the fields of one message. */
export class WireWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  varint(field: number, value: bigint | number): void {
    this.#push(varintBytes(BigInt(field * 8 + VARINT)));
    this.#push(varintBytes(BigInt.asUintN(64, BigInt(value))));
  }

  bytes(field: number, value: Uint8Array): void {
    this.#push(varintBytes(BigInt(field * 8 + DELIMITED)));
    this.#push(varintBytes(BigInt(value.length)));
    this.#push(value);
  }

  text(field: number, value: string): void {
    this.bytes(field, encoder.encode(value));
  }

  double(field: number, value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.#push(varintBytes(BigInt(field * 8 + FIXED64)));
    this.#push(bytes);
  }

  /** A repeated integer; nothing is written for an empty list. */
  packed(field: number, values: readonly number[]): void {
    if (values.length === 0) return;
    const parts = values.map((value) => varintBytes(BigInt.asUintN(64, BigInt(value))));
    this.bytes(field, Buffer.concat(parts));
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts, this.#length);
  }

  #push(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
  }
}

export interface WireField {
  readonly number: number;
  /** Of a varint. */
  readonly value: bigint;
  /** Of anything that has a length; a part of the message, not a copy. */
  readonly bytes: Uint8Array;
}

/** The fields of a message in the order in which they stand. Throws RangeError if it is cut short. */
export function* wireFields(message: Uint8Array): Generator<WireField, void> {
  const reader = new WireReader(message);
  while (!reader.atEnd) {
    const tag = Number(reader.varint());
    const number = tag >>> 3;
    const kind = tag & 7;
    if (kind === VARINT) yield { number, value: reader.varint(), bytes: NOTHING };
    else if (kind === DELIMITED) {
      yield { number, value: 0n, bytes: reader.take(Number(reader.varint())) };
    } else if (kind === FIXED64) yield { number, value: 0n, bytes: reader.take(8) };
    else if (kind === FIXED32) reader.take(4);
    else throw new RangeError(`a field of wire type ${kind}`);
  }
}

export function* packedVarints(bytes: Uint8Array): Generator<bigint, void> {
  const reader = new WireReader(bytes);
  while (!reader.atEnd) yield reader.varint();
}

export function doubleOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
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

  /** The lower 28 bits are read as a number: few varints are longer, and bigints are slow. */
  varint(): bigint {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte();
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
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

function varintBytes(value: bigint): Uint8Array {
  if (value < 128n) return Uint8Array.of(Number(value));
  const bytes: number[] = [];
  while (value >= 128n) {
    bytes.push(Number(value & 127n) | 128);
    value >>= 7n;
  }
  bytes.push(Number(value));
  return Uint8Array.from(bytes);
}
