/**
 * Turns the log file that a container runtime writes into what the container wrote. A line of the
 * file is `2016-10-06T00:17:09.669794202Z stdout F text`: the time, the stream, and whether the
 * text is a full line (F) or a part of one (P).
 *
 * It works on whole blocks of bytes, because logs can be large: a line costs one search and one move
 * within the block, and makes no strings unless the time of the line is asked for. A LineMover does that for
 * the usual lines of large blocks. Nothing is copied from one block to the next: whoever reads the file puts
 * the rest of a block before what it reads next.
 */
import type { LineMover } from "./line-mover.ts";
import type { LogOptions } from "./log-options.ts";

const SPACE = 0x20;
const NEWLINE = 0x0a;
const PARTIAL = 0x50;
const Z = 0x5a;
/** `stdout` and `stderr` differ in their fourth letter. */
const STDERR_LETTER = 0x65;

export class LogLines {
  readonly #options: Pick<LogOptions, "timestamps" | "sinceMs" | "stream">;
  /** A partial line was written: the next part goes on in the same line. */
  #inLine = false;
  /** Lines come in order of time: after the first that is late enough all are. */
  #isLateEnough: boolean;

  readonly #mover: LineMover | undefined;

  /** The line at the end of the last block whose end has not been read: the next block begins with it. */
  rest: Uint8Array = new Uint8Array();

  constructor(options: Pick<LogOptions, "timestamps" | "sinceMs" | "stream">, mover?: LineMover) {
    this.#options = options;
    this.#mover = mover;
    this.#isLateEnough = options.sinceMs === undefined;
  }

  /** The text of the complete lines in this block, which is moved to its begin. */
  add(block: Buffer): Uint8Array {
    // A plain array: its methods need no optimizing compiler to be fast, as a Buffer's do.
    const own = new Uint8Array(block.buffer, block.byteOffset, block.length);
    const { timestamps, stream } = this.#options;
    const mover = timestamps || stream !== "All" ? undefined : this.#mover;
    const loaded = mover?.load(own);
    const bytes = loaded ?? own;
    let length = 0;
    let start = 0;
    for (;;) {
      if (mover !== undefined && loaded !== undefined && this.#isLateEnough) {
        const moved = mover.move(start, bytes.length, length);
        if (moved.start > start) this.#inLine = false;
        start = moved.start;
        length = moved.at;
      }
      const end = bytes.indexOf(NEWLINE, start);
      if (end === -1) break;
      length += this.#moveLine(bytes, start, end, length);
      start = end + 1;
    }
    if (loaded !== undefined) own.set(bytes.subarray(0, length));
    this.rest = own.subarray(start);
    return own.subarray(0, length);
  }

  /** Moves one line without its newline in the file; returns how many bytes were written. */
  #moveLine(bytes: Uint8Array, start: number, end: number, at: number): number {
    const timeEnd = timeEndOf(bytes, start);
    const tagStart = timeEnd + 8; // " stdout " has eight bytes
    const textStart = tagStart + 2;
    // A line that the runtime did not write is left out, as upstream does.
    if (timeEnd === -1 || textStart > end + 1 || !hasStream(bytes, timeEnd + 1)) return 0;
    if (!this.#isWanted(bytes, start, timeEnd)) return 0;
    const isPartial = bytes[tagStart] === PARTIAL;
    let length = 0;
    if (this.#options.timestamps && !this.#inLine) {
      bytes.copyWithin(at, start, timeEnd + 1);
      length += timeEnd + 1 - start;
    }
    const from = Math.min(textStart, end);
    // With its newline, unless the line goes on.
    const to = isPartial ? end : end + 1;
    bytes.copyWithin(at + length, from, to);
    this.#inLine = isPartial;
    return length + to - from;
  }

  #isWanted(bytes: Uint8Array, start: number, timeEnd: number): boolean {
    const { stream, sinceMs } = this.#options;
    if (stream !== "All") {
      const isStderr = bytes[timeEnd + 4] === STDERR_LETTER;
      if (isStderr !== (stream === "Stderr")) return false;
    }
    if (!this.#isLateEnough) {
      const timeMs = Date.parse(String.fromCharCode(...bytes.subarray(start, timeEnd)));
      this.#isLateEnough = timeMs >= (sinceMs ?? 0);
    }
    return this.#isLateEnough;
  }
}

/** Runtimes write nine digits after the point, and UTC: 30 bytes. Others are searched for. */
function timeEndOf(bytes: Uint8Array, start: number): number {
  const usual = start + 30;
  return bytes[usual] === SPACE && bytes[usual - 1] === Z ? usual : bytes.indexOf(SPACE, start);
}

/** `stdout ` or `stderr `: recognized by a few letters. */
function hasStream(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x73 && bytes[at + 2] === 0x64 && bytes[at + 6] === SPACE;
}
