/** Bytes in several buffers, read in order as if they were one. */

/** A stretch of bytes. */
export interface Part {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export function whole({ buffer, byteOffset, byteLength }: Uint8Array): Part {
  return { bytes: Buffer.from(buffer, byteOffset, byteLength), start: 0, end: byteLength };
}

export function lengthOf(parts: readonly Part[]): number {
  let length = 0;
  for (const { start, end } of parts) length += end - start;
  return length;
}

export function joined(parts: readonly Part[]): Buffer {
  const target = Buffer.allocUnsafe(lengthOf(parts));
  new PartReader(parts).read(target);
  return target;
}

/** Up to here bytes are copied one by one: the call that copies many costs more. */
const FEW_BYTES = 8;

export class PartReader {
  readonly #parts: readonly Part[];
  #index = 0;
  /** Bytes already read of the current part. */
  #done = 0;

  constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  /** Fills the target; returns the number of bytes, 0 at the end. */
  read(target: Buffer): number {
    let used = 0;
    while (used < target.length && this.#index < this.#parts.length) {
      const { bytes, start, end } = this.#parts[this.#index]!;
      const from = start + this.#done;
      const count = Math.min(end - from, target.length - used);
      if (count > FEW_BYTES) bytes.copy(target, used, from, from + count);
      else for (let n = 0; n < count; n++) target[used + n] = bytes[from + n]!;
      used += count;
      this.#done += count;
      if (from + count < end) break;
      this.#index += 1;
      this.#done = 0;
    }
    return used;
  }
}
