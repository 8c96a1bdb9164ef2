/**
 * The bytes of the log on disk. Numbers are little-endian; those that may exceed 32 bits are
 * doubles, which are exact for integers up to 2^53.
 *
 *   0  previous        double      32  key length     uint16
 *   8  createRevision  double      34  flags          uint8   1: deleted, 2: has committedAtMs
 *  16  version         double      35  zero           uint8
 *  24  expiresAtMs     double      36  committedAtMs  double, if flagged
 *                                  then the key (UTF-8), then the value to the end
 *
 * Rows of format 2 have no committedAtMs; it reads as 0.
 *
 * The row's key in the table is its position, 8 bytes big-endian, so that rows are in log order.
 */
import { type Change, costOf } from "#store/local/engine.ts";

const UNTIMED_HEADER_BYTES = 36;
const HEADER_BYTES = 44;
const DELETED = 1;
const TIMED = 2;
const WORD = 2 ** 32;

/**
 * Encodes the rows of one commit after another into the same memory: that saves the garbage, and
 * LMDB takes rows over fastest from memory that it has seen before.
 */
export class RowEncoder {
  #memory = memoryOf(Buffer.alloc(0));

  /** The rows are valid until the next call. */
  encode(changes: readonly Change[]): Uint8Array[] {
    let bytesMax = 0;
    for (const { key, value } of changes) bytesMax += rowBytesMax(key, value);
    const memory = this.#take(bytesMax);
    const rows: Uint8Array[] = [];
    let start = 0;
    for (const change of changes) {
      const end = encodeRow(change, memory, start);
      rows.push(memory.buffer.subarray(start, end));
      start = end;
    }
    return rows;
  }

  #take(bytes: number): Memory {
    if (bytes <= this.#memory.buffer.length) return this.#memory;
    const memory = memoryOf(Buffer.allocUnsafeSlow(Math.max(bytes, KEPT_BYTES_MIN)));
    if (memory.buffer.length <= KEPT_BYTES_MAX) this.#memory = memory;
    return memory;
  }
}

const KEPT_BYTES_MIN = 64 * 1024;
const KEPT_BYTES_MAX = 1024 * 1024;

/** A view is the fastest way to write numbers. */
interface Memory {
  readonly buffer: Buffer;
  readonly view: DataView;
}

function memoryOf(buffer: Buffer): Memory {
  return { buffer, view: new DataView(buffer.buffer, buffer.byteOffset, buffer.length) };
}

/** A UTF-16 unit takes at most three bytes of UTF-8. */
function rowBytesMax(key: string, value: Uint8Array): number {
  return HEADER_BYTES + 3 * key.length + value.length;
}

/** Returns where the row ends. */
function encodeRow(change: Change, { buffer, view }: Memory, start: number): number {
  const { key, value } = change;
  const keyBytes = buffer.write(key, start + HEADER_BYTES);
  view.setFloat64(start, change.previous, true);
  view.setFloat64(start + 8, change.createRevision, true);
  view.setFloat64(start + 16, change.version, true);
  view.setFloat64(start + 24, change.expiresAtMs, true);
  view.setUint16(start + 32, keyBytes, true);
  view.setUint16(start + 34, change.deleted ? DELETED | TIMED : TIMED, true);
  view.setFloat64(start + 36, change.committedAtMs, true);
  const valueStart = start + HEADER_BYTES + keyBytes;
  buffer.set(value, valueStart);
  return valueStart + value.length;
}

/** All but the position and the value. Throws RangeError if the row is too short. */
export type RowHead = Omit<Change, "position" | "value">;

/** `size`: how much of `bytes` is the row. */
export function decodeRowHead(bytes: Uint8Array, size: number): RowHead {
  const row = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, size);
  const keyStart = headerBytesOf(row);
  const valueStart = keyStart + row.readUInt16LE(32);
  if (valueStart > size) throw new RangeError("a row of the log is cut short");
  const key = row.toString("utf8", keyStart, valueStart);
  return {
    key,
    deleted: (row.readUInt8(34) & DELETED) !== 0,
    createRevision: row.readDoubleLE(8),
    version: row.readDoubleLE(16),
    bytes: costOf(key, size - valueStart),
    expiresAtMs: row.readDoubleLE(24),
    committedAtMs: keyStart === HEADER_BYTES ? row.readDoubleLE(36) : 0,
    previous: row.readDoubleLE(0),
  };
}

/** The value is a part of `row`, not a copy. */
export function decodeRow(position: number, row: Uint8Array): Change {
  return { ...decodeRowHead(row, row.length), position, value: valueIn(row) };
}

/** A part of `row`, not a copy. */
export function valueIn(row: Uint8Array): Uint8Array {
  return row.subarray(valueStartOf(row));
}

export function valueStartOf(row: Uint8Array): number {
  return headerBytesOf(row) + row[32]! + row[33]! * 256;
}

function headerBytesOf(row: Uint8Array): number {
  return (row[34]! & TIMED) === 0 ? UNTIMED_HEADER_BYTES : HEADER_BYTES;
}

/** `into` saves making a new key, where the last one is not needed any more. */
export function encodePosition(position: number, into?: Buffer): Buffer {
  const bytes = into ?? Buffer.allocUnsafe(8);
  bytes.writeUInt32BE(Math.floor(position / WORD), 0);
  bytes.writeUInt32BE(position % WORD, 4);
  return bytes;
}

export function decodePosition(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let position = 0;
  for (let at = start; at < end; at++) position = position * 256 + bytes[at]!;
  return position;
}
