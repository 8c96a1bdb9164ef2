/** SPDY/3.1's frames as bytes: eight bytes that say what it is and how long, then its payload. */
export const FRAME_HEAD_BYTES = 8;
/** Beyond it a peer means no good: ours are smaller, and upstream's are at most 32 KiB. */
export const FRAME_BYTES_MAX = 16 * 1024 * 1024;

export const FIN = 1;

export type FrameType =
  | "data"
  | "syn-stream"
  | "syn-reply"
  | "rst-stream"
  | "settings"
  | "ping"
  | "goaway"
  | "headers"
  | "window-update"
  | "unknown";

export interface FrameHead {
  readonly type: FrameType;
  /** Of data frames; control frames have theirs in the payload. */
  readonly streamId: number;
  readonly flags: number;
  readonly length: number;
}

const VERSION = 3;
const CONTROL: Readonly<Record<number, FrameType>> = {
  1: "syn-stream",
  2: "syn-reply",
  3: "rst-stream",
  4: "settings",
  6: "ping",
  7: "goaway",
  8: "headers",
  9: "window-update",
};

export function readFrameHead(bytes: Buffer): FrameHead {
  const first = bytes.readUInt32BE(0);
  const second = bytes.readUInt32BE(4);
  const [flags, length] = [second >>> 24, second & 0xff_ff_ff];
  if (first >>> 31 === 0) return { type: "data", streamId: first, flags, length };
  return { type: CONTROL[first & 0xffff] ?? "unknown", streamId: 0, flags, length };
}

export function dataFrame(streamId: number, data: Uint8Array, flags: number): Buffer[] {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(flags * 0x1_00_00_00 + data.length, 4);
  return [head, Buffer.from(data.buffer, data.byteOffset, data.length)];
}

export function synStream(streamId: number, headers: Buffer, flags: number): Buffer {
  const fixed = Buffer.alloc(10); // with no stream that it belongs to, and the highest priority
  fixed.writeUInt32BE(streamId, 0);
  return controlFrame(1, flags, fixed, headers);
}

export function synReply(streamId: number, headers: Buffer, flags: number): Buffer {
  return controlFrame(2, flags, word(streamId), headers);
}

export const RST = { protocolError: 1, refused: 3, cancel: 5 } as const;

export function rstStream(streamId: number, why: number): Buffer {
  return controlFrame(3, 0, word(streamId), word(why));
}

export function ping(id: number): Buffer {
  return controlFrame(6, 0, word(id));
}

export function goAway(lastStreamId: number): Buffer {
  return controlFrame(7, 0, word(lastStreamId), word(0));
}

function controlFrame(type: number, flags: number, ...payload: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  head.writeUInt16BE(0x8000 | VERSION, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(flags * 0x1_00_00_00 + length, 4);
  return Buffer.concat([head, ...payload]);
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
