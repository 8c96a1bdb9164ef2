/**
 * Copies the values of rows into larger pieces of memory, one after the other: a range of many small values
 * takes a fraction of the time, because most of it goes into making a piece of memory for each. A piece is
 * held as long as one of its values is.
 */
import { valueStartOf } from "./row.ts";

const PIECE_BYTES = 64 * 1024;
/** Larger values have memory of their own, so that little of a piece stays unused. */
const PACKED_BYTES_MAX = PIECE_BYTES / 8;

export class PackedValues {
  #piece = Buffer.alloc(0);
  #used = 0;

  /** A copy of the value of a row, whose memory is used again for the next one. */
  copyOf(row: Uint8Array): Uint8Array {
    // Memory of LMDB is longer than the row that is in it: only `length` says where the row ends.
    const start = valueStartOf(row);
    const value = row.subarray(start, row.length);
    if (value.length > PACKED_BYTES_MAX) {
      const own = Buffer.allocUnsafeSlow(value.length);
      own.set(value);
      return own;
    }
    if (this.#used + value.length > this.#piece.length) {
      this.#piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      this.#used = 0;
    }
    const end = this.#used + value.length;
    this.#piece.set(value, this.#used);
    const copy = this.#piece.subarray(this.#used, end);
    this.#used = end;
    return copy;
  }
}
