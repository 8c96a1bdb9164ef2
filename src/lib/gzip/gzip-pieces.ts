/**
 * A gzip stream that is put together from pieces which were compressed one by one: a document of many
 * parts is made again after a change of one part without compressing the others.
 *
 * Promises:
 * 1. `joinGzip(pieces)` is one gzip member; unpacked it is the bytes of the pieces in their order.
 * 2. Compression happens in another thread. Joining copies the compressed bytes, and costs less
 *    than a microsecond for each piece beside that.
 */
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";

export interface GzipPiece {
  /** Blocks of a deflate stream, none of which is the last one; they end at a byte. */
  readonly deflated: Uint8Array;
  /** Of the bytes before compression. */
  readonly crc: number;
  readonly length: number;
  /** x to the power of the number of bits before compression: what joining CRCs needs of the length. */
  readonly power: number;
}

const deflate = promisify(deflateRaw);
/** zlib's Z_SYNC_FLUSH. Its `constants` would load the module, which no start needs. */
const SYNC_FLUSH = 2;
const OPTIONS = { level: 1, finishFlush: SYNC_FLUSH };

export async function gzipPiece(content: string | Uint8Array): Promise<GzipPiece> {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  if (bytes.length === 0) return EMPTY_PIECE;
  const deflated = await deflate(bytes, OPTIONS);
  // A copy of its own size: the buffer that zlib returns may be part of a larger one.
  return {
    deflated: new Uint8Array(deflated),
    crc: crc32(bytes),
    length: bytes.length,
    power: powerOf(BYTE, bytes.length),
  };
}

/** The number of bytes that a gzip stream of one member unpacks to, modulo 2 to the power of 32. */
export function unpackedLength(gzipped: Buffer): number {
  return gzipped.readUInt32LE(gzipped.length - 4);
}

export function joinGzip(pieces: Iterable<GzipPiece>): Buffer {
  const parts: Uint8Array[] = [HEAD];
  let crc = 0;
  let length = 0;
  for (const piece of pieces) {
    parts.push(piece.deflated);
    crc = crcOfBoth(crc, piece);
    length += piece.length;
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(length % 2 ** 32, 4);
  return Buffer.concat([...parts, LAST_BLOCK, trailer]);
}

/** RFC 1952: deflate, no name, no time, unknown system. */
const HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255);
/** An empty block that says that it is the last one. */
const LAST_BLOCK = Uint8Array.of(3, 0);

/** The polynomial of CRC-32, bits reversed. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;
/** x to the power of 8: one byte. */
const BYTE = 0x00800000;

export const EMPTY_PIECE: GzipPiece = {
  deflated: new Uint8Array(0),
  crc: 0,
  length: 0,
  power: ONE,
};

/** The CRC of a text of which the CRC is `first` and that of a piece after it. */
function crcOfBoth(first: number, { crc, power }: GzipPiece): number {
  return (multiply(power, first) ^ crc) >>> 0;
}

/** `base` to the power of `exponent`, by squaring. */
function powerOf(base: number, exponent: number): number {
  let result = ONE;
  let square = base;
  for (let rest = exponent; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiply(square, result);
    square = multiply(square, square);
  }
  return result;
}

/** The product of two polynomials over GF(2) modulo that of CRC-32; the highest bit is x to the power of 0. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= shifted;
    shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  }
  return product >>> 0;
}
