/**
 * The bytes of the log on disk. Numbers are little-endian; those that may exceed 32 bits are
 * doubles, which are exact for integers up to 2^53.
 *
 *   0  previous        double      32  key length  uint16
 *   8  createRevision  double      34  flags       uint8   1: deleted
 *  16  version         double      35  zero        uint8
 *  24  expiresAtMs     double      36  key (UTF-8), then the value to the end
 *
 * The row's key in the table is its position, 8 bytes big-endian, so that rows are in log order.
 */
import { type Change, costOf } from "#store/local/engine.ts";

const HEADER_BYTES = 36;
const DELETED = 1;
const WORD = 2 ** 32;

/**
 * Encodes the rows of one commit after another into the same memory: that saves the garbage, and
 * LMDB takes rows over fastest from memory that it has seen before.
 */
export class RowEncoder {
  #memory = Buffer.alloc(0);

  /** The rows are valid until the next call. */
  encode(changes: readonly Change[]): Uint8Array[] {
    const sizes = changes.map(({ key, value }) => {
      return HEADER_BYTES + Buffer.byteLength(key) + value.length;
    });
    const memory = this.#take(sizes.reduce((sum, size) => sum + size, 0));
    let start = 0;
    return changes.map((change, index) => {
      const row = memory.subarray(start, start + sizes[index]!);
      start += row.length;
      encodeRow(change, row);
      return row;
    });
  }

  #take(bytes: number): Buffer {
    if (bytes <= this.#memory.length) return this.#memory;
    const memory = Buffer.allocUnsafeSlow(Math.max(bytes, KEPT_BYTES_MIN));
    if (memory.length <= KEPT_BYTES_MAX) this.#memory = memory;
    return memory;
  }
}

const KEPT_BYTES_MIN = 64 * 1024;
const KEPT_BYTES_MAX = 1024 * 1024;

function encodeRow(change: Change, row: Buffer): void {
  const { key, value } = change;
  const keyBytes = row.length - HEADER_BYTES - value.length;
  row.writeDoubleLE(change.previous, 0);
  row.writeDoubleLE(change.createRevision, 8);
  row.writeDoubleLE(change.version, 16);
  row.writeDoubleLE(change.expiresAtMs, 24);
  row.writeUInt16LE(keyBytes, 32);
  row.writeUInt8(change.deleted ? DELETED : 0, 34);
  row.writeUInt8(0, 35);
  row.write(key, HEADER_BYTES);
  row.set(value, HEADER_BYTES + keyBytes);
}

/** All but the position and the value. Throws RangeError if the row is too short. */
export type RowHead = Omit<Change, "position" | "value">;

/** `size`: how much of `bytes` is the row. */
export function decodeRowHead(bytes: Uint8Array, size: number): RowHead {
  const row = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, size);
  const valueStart = HEADER_BYTES + row.readUInt16LE(32);
  if (valueStart > size) throw new RangeError("a row of the log is cut short");
  const key = row.toString("utf8", HEADER_BYTES, valueStart);
  return {
    key,
    deleted: (row.readUInt8(34) & DELETED) !== 0,
    createRevision: row.readDoubleLE(8),
    version: row.readDoubleLE(16),
    bytes: costOf(key, size - valueStart),
    expiresAtMs: row.readDoubleLE(24),
    previous: row.readDoubleLE(0),
  };
}

/** The value is a part of `row`, not a copy. */
export function decodeRow(position: number, row: Uint8Array): Change {
  return { ...decodeRowHead(row, row.length), position, value: valueIn(row) };
}

/** A part of `row`, not a copy. */
export function valueIn(row: Uint8Array): Uint8Array {
  return row.subarray(HEADER_BYTES + row[32]! + row[33]! * 256);
}

/** `into` saves making a new key, where the last one is not needed any more. */
export function encodePosition(position: number, into?: Buffer): Buffer {
  const bytes = into ?? Buffer.allocUnsafe(8);
  bytes.writeUInt32BE(Math.floor(position / WORD), 0);
  bytes.writeUInt32BE(position % WORD, 4);
  return bytes;
}

export function decodePosition(bytes: Uint8Array): number {
  let position = 0;
  for (const byte of bytes) position = position * 256 + byte;
  return position;
}
