/**
 * Reads the protobuf wire format. Generated decoders (proto-decoder.ts) share one reader per
 * message tree; every read checks its bounds and throws `ProtobufError` on bytes that make no sense.
 */
export class ProtobufError extends Error {}

/** The message holds more than the reader may read. */
export class ProtobufExcess extends ProtobufError {}

/** How much a message may hold: see json-limits.ts. */
export interface ProtoLimits {
  readonly values: number;
  readonly listObjects: number;
}

const TRUNCATED = "unexpected EOF";
const OVERFLOW = "proto: integer overflow";
const VARINT_BYTES_MAX = 10;
/** The seventh group of seven bits is the last that keeps a number exact whatever it holds. */
const SCALE_EXACT_MAX = 0x80 ** 6;
/** Up to this many bytes, building a string by hand beats the decoder's call. */
const SHORT_STRING_MAX = 48;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export class ProtoReader {
  readonly bytes: Uint8Array;
  at = 0;
  /** Levels of JSON nesting above the message being read. */
  depth = 0;
  readonly #limits: ProtoLimits | undefined;
  #values = 0;
  #listObjects = 0;

  constructor(bytes: Uint8Array, limits?: ProtoLimits) {
    this.bytes = bytes;
    this.#limits = limits;
  }

  /** A member of a map or an item of a list is read next. */
  countValue(): void {
    const max = this.#limits?.values;
    if (max !== undefined && ++this.#values > max) {
      throw new ProtobufExcess(`limit is ${max} values`);
    }
  }

  countListObject(): void {
    const max = this.#limits?.listObjects;
    if (max !== undefined && ++this.#listObjects > max) {
      throw new ProtobufExcess(`limit is ${max} objects in lists`);
    }
  }

  /** Tags, lengths and small numbers: an unsigned 32-bit varint; larger ones keep their low bits. */
  uint32(end: number): number {
    if (this.at >= end) throw new ProtobufError(TRUNCATED);
    const first = this.bytes[this.at++]!;
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; ; shift += 7) {
      if (shift >= VARINT_BYTES_MAX * 7) throw new ProtobufError(OVERFLOW);
      if (this.at >= end) throw new ProtobufError(TRUNCATED);
      const byte = this.bytes[this.at++]!;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  int32(end: number): number {
    return this.uint32(end) | 0;
  }

  bool(end: number): boolean {
    return this.int64(end) !== 0;
  }

  /** A bigint only where a number would not be exact. */
  int64(end: number): number | bigint {
    const start = this.at;
    let value = 0;
    for (let scale = 1; scale <= SCALE_EXACT_MAX; scale *= 0x80) {
      if (this.at >= end) throw new ProtobufError(TRUNCATED);
      const byte = this.bytes[this.at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    this.at = start;
    return this.#longInt64(end);
  }

  #longInt64(end: number): number | bigint {
    const start = this.at;
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (this.at - start >= VARINT_BYTES_MAX) throw new ProtobufError(OVERFLOW);
      if (this.at >= end) throw new ProtobufError(TRUNCATED);
      const byte = this.bytes[this.at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    const signed = BigInt.asIntN(64, value);
    const number = Number(signed);
    return Number.isSafeInteger(number) ? number : signed;
  }

  float64(end: number): number {
    if (this.at + 8 > end) throw new ProtobufError(TRUNCATED);
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.at, 8);
    this.at += 8;
    return view.getFloat64(0, true);
  }

  /** Reads a length and gives the end of what it measures. */
  end(end: number): number {
    const length = this.uint32(end);
    const stop = this.at + length;
    if (stop > end) throw new ProtobufError(TRUNCATED);
    return stop;
  }

  string(end: number): string {
    const stop = this.end(end);
    const start = this.at;
    this.at = stop;
    if (stop - start > SHORT_STRING_MAX) return utf8.decode(this.bytes.subarray(start, stop));
    let text = "";
    for (let i = start; i < stop; i++) {
      const byte = this.bytes[i]!;
      if (byte >= 0x80) return utf8.decode(this.bytes.subarray(start, stop));
      text += String.fromCharCode(byte);
    }
    return text;
  }

  slice(end: number): Uint8Array {
    const stop = this.end(end);
    const bytes = this.bytes.subarray(this.at, stop);
    this.at = stop;
    return bytes;
  }

  /** Skips an unknown field. */
  skip(tag: number, end: number): void {
    const number = tag >>> 3;
    if (number === 0) throw new ProtobufError(`proto: illegal tag 0 (wire type ${tag})`);
    switch (tag & 7) {
      case 0:
        this.int64(end);
        return;
      case 1:
        this.#advance(8, end);
        return;
      case 2:
        this.at = this.end(end);
        return;
      case 3:
        this.#skipGroup(end);
        return;
      case 5:
        this.#advance(4, end);
        return;
      case 4:
        throw new ProtobufError("proto: unexpected end of group");
      default:
        throw new ProtobufError(`proto: illegal wireType ${tag & 7}`);
    }
  }

  #advance(count: number, end: number): void {
    if (this.at + count > end) throw new ProtobufError(TRUNCATED);
    this.at += count;
  }

  /** Groups may nest; they are counted, not recursed into. */
  #skipGroup(end: number): void {
    for (let open = 1; open > 0; ) {
      const tag = this.uint32(end);
      if ((tag & 7) === 3) open++;
      else if ((tag & 7) === 4) open--;
      else this.skip(tag, end);
    }
  }
}
