/** The frames of HTTP/2 (RFC 9113, sections 4 and 6) as bytes. */
import { HTTP2_CODES, type Http2Code } from "./http2-error.ts";

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const FRAME_HEADER_BYTES = 9;
/** Every peer takes frames of this size; larger ones only after it said so. */
export const FRAME_BYTES_DEFAULT = 16_384;
export const WINDOW_DEFAULT = 65_535;
export const WINDOW_MAX = 2 ** 31 - 1;
const ID_MASK = 0x7fff_ffff;

export interface FrameHeader {
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
}

export function frameLength(bytes: Buffer, offset: number): number {
  return bytes.readUIntBE(offset, 3);
}

export function readFrameHeader(bytes: Buffer, offset: number): FrameHeader {
  return {
    length: frameLength(bytes, offset),
    type: bytes[offset + 3]!,
    flags: bytes[offset + 4]!,
    streamId: bytes.readUInt32BE(offset + 5) & ID_MASK,
  };
}

export function writeFrameHeader(
  bytes: Buffer,
  offset: number,
  { length, type, flags, streamId }: FrameHeader,
): void {
  bytes.writeUIntBE(length, offset, 3);
  bytes[offset + 3] = type;
  bytes[offset + 4] = flags;
  bytes.writeUInt32BE(streamId, offset + 5);
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  writeFrameHeader(bytes, 0, { length: payload.length, type, flags, streamId });
  bytes.set(payload, FRAME_HEADER_BYTES);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [at, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * at);
    payload.writeUInt32BE(value, 6 * at + 2);
  }
  return frame(FRAME.settings, 0, 0, payload);
}

export function windowUpdateFrame(streamId: number, bytes: number): Buffer {
  return frame(FRAME.windowUpdate, 0, streamId, uint32(bytes));
}

export function rstStreamFrame(streamId: number, code: Http2Code): Buffer {
  return frame(FRAME.rstStream, 0, streamId, uint32(HTTP2_CODES[code]));
}

export function goawayFrame(lastStreamId: number, code: Http2Code, message: string): Buffer {
  const head = Buffer.concat([uint32(lastStreamId), uint32(HTTP2_CODES[code])]);
  return frame(FRAME.goaway, 0, 0, Buffer.concat([head, Buffer.from(message)]));
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}
