/** A run of bytes, also in the form that HTTP/1.1 sends it. */
export interface PieceBytes {
  /** A chunk of the chunked transfer coding. */
  readonly chunk: Uint8Array;
  /** What is in it. */
  readonly bytes: Uint8Array;
}

/** Frames of a watch as one run of bytes. */
export class Piece implements PieceBytes {
  readonly chunk: Uint8Array;
  readonly bytes: Uint8Array;
  readonly #frames: readonly Uint8Array[];

  constructor(frames: readonly Uint8Array[]) {
    let length = 0;
    for (const frame of frames) length += frame.length;
    const head = Buffer.from(`${length.toString(16)}\r\n`, "latin1");
    this.#frames = frames;
    this.chunk = Buffer.concat(
      [head, ...frames, CHUNK_END],
      head.length + length + CHUNK_END.length,
    );
    this.bytes = this.chunk.subarray(head.length, head.length + length);
  }

  /** Whether it was made of these very frames. */
  isOf(frames: readonly Uint8Array[]): boolean {
    return (
      frames.length === this.#frames.length &&
      frames.every((frame, index) => frame === this.#frames[index])
    );
  }
}

const CHUNK_END = Buffer.from("\r\n");

/** The piece that comes as this chunk. */
export function pieceOf(chunk: Uint8Array): PieceBytes {
  const start = chunk.indexOf(LINE_END) + 1;
  return { chunk, bytes: chunk.subarray(start, chunk.length - CHUNK_END.length) };
}

const LINE_END = 10;
