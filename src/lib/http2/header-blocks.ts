/**
 * Puts header blocks together from HEADERS and CONTINUATION frames and decodes them. A block has at most
 * HEADER_LIST_BYTES_MAX bytes in FRAMES_MAX frames.
 */
import { FLAG, FRAME } from "./frames.ts";
import { HEADER_LIST_BYTES_MAX, HpackDecoder } from "./hpack-decoder.ts";
import { Http2Error } from "./http2-error.ts";
import { badSize, broken, withoutPadding } from "./protocol-faults.ts";

const FRAMES_MAX = 64;
const PRIORITY_BYTES = 5;

export interface ReceivedHeaders {
  readonly streamId: number;
  /** The server sends nothing more on the stream. */
  readonly isEnd: boolean;
  readonly fields: ReturnType<HpackDecoder["decode"]>;
}

interface HeaderBlock {
  readonly streamId: number;
  readonly isEnd: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

export class HeaderBlocks {
  readonly #decoder = new HpackDecoder();
  #block: HeaderBlock | undefined;

  /** Whether a block has begun, so that only its CONTINUATION may come. */
  get isOpen(): boolean {
    return this.#block !== undefined;
  }

  /** Undefined until the block is whole. Throws Http2Error. */
  receive(
    type: number,
    streamId: number,
    flags: number,
    payload: Buffer,
  ): ReceivedHeaders | undefined {
    if (type !== FRAME.headers) return this.#add(streamId, flags, payload);
    const isEnd = (flags & FLAG.endStream) !== 0;
    this.#block = { streamId, isEnd, parts: [], bytes: 0 };
    return this.#add(streamId, flags, withoutPriority(flags, withoutPadding(flags, payload)));
  }

  #add(streamId: number, flags: number, part: Buffer): ReceivedHeaders | undefined {
    const block = this.#block;
    if (block === undefined || block.streamId !== streamId) {
      throw broken("a continuation of no header block");
    }
    block.parts.push(part);
    block.bytes += part.length;
    if (block.bytes > HEADER_LIST_BYTES_MAX || block.parts.length > FRAMES_MAX) {
      throw new Http2Error("ENHANCE_YOUR_CALM", "the headers are too long");
    }
    if ((flags & FLAG.endHeaders) === 0) return undefined;
    this.#block = undefined;
    const whole = block.parts.length === 1 ? part : Buffer.concat(block.parts, block.bytes);
    return { streamId, isEnd: block.isEnd, fields: this.#decoder.decode(whole) };
  }
}

function withoutPriority(flags: number, payload: Buffer): Buffer {
  if ((flags & FLAG.priority) === 0) return payload;
  if (payload.length < PRIORITY_BYTES) throw badSize("HEADERS");
  return payload.subarray(PRIORITY_BYTES);
}
