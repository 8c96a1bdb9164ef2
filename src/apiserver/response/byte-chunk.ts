/** Bytes of a response, also encoded as a chunk of HTTP/1.1's chunked transfer coding. */
export interface ChunkBytes {
  /** Size line, bytes, CRLF. */
  readonly chunk: Uint8Array;
  /** The payload of the chunk. */
  readonly bytes: Uint8Array;
}

/** Frames of a watch joined into one chunk. */
export class FrameChunk implements ChunkBytes {
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

  /** Whether it was made of exactly these frames (by identity). */
  isOf(frames: readonly Uint8Array[]): boolean {
    return (
      frames.length === this.#frames.length &&
      frames.every((frame, index) => frame === this.#frames[index])
    );
  }
}

const CHUNK_END = Buffer.from("\r\n");

/** The payload of an encoded chunk. */
export function chunkOf(chunk: Uint8Array): ChunkBytes {
  const start = chunk.indexOf(LINE_END) + 1;
  return { chunk, bytes: chunk.subarray(start, chunk.length - CHUNK_END.length) };
}

const LINE_END = 10;
