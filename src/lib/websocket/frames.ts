/** WebSocket frames (RFC 6455) as bytes. */
export type Opcode = "continuation" | "text" | "binary" | "close" | "ping" | "pong";

export interface FrameHead {
  readonly final: boolean;
  readonly opcode: Opcode;
  readonly mask: Buffer | undefined;
  readonly headBytes: number;
  readonly payloadBytes: number;
}

const OPCODES: Readonly<Record<number, Opcode>> = {
  0: "continuation",
  1: "text",
  2: "binary",
  8: "close",
  9: "ping",
  10: "pong",
};
const NUMBERS: Readonly<Record<Opcode, number>> = {
  continuation: 0,
  text: 1,
  binary: 2,
  close: 8,
  ping: 9,
  pong: 10,
};

/** Undefined while there are too few bytes; throws for what is no frame. */
export function readFrameHead(bytes: Buffer): FrameHead | undefined {
  if (bytes.length < 2) return undefined;
  const [first, second] = [bytes[0]!, bytes[1]!];
  const opcode = OPCODES[first & 0x0f];
  if ((first & 0x70) !== 0 || opcode === undefined) throw new Error("not a WebSocket frame");
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const masked = (second & 0x80) !== 0;
  const headBytes = 2 + lengthBytes + (masked ? 4 : 0);
  if (bytes.length < headBytes) return undefined;
  const payloadBytes =
    lengthBytes === 0
      ? short
      : lengthBytes === 2
        ? bytes.readUInt16BE(2)
        : Number(bytes.readBigUInt64BE(2));
  return {
    final: (first & 0x80) !== 0,
    opcode,
    mask: masked ? bytes.subarray(headBytes - 4, headBytes) : undefined,
    headBytes,
    payloadBytes,
  };
}

/** Whole messages only, as servers send them: not masked. */
export function encodeFrame(opcode: Opcode, payload: Uint8Array, mask?: Buffer): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 0x1_00_00 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes);
  head[0] = 0x80 | NUMBERS[opcode];
  head[1] =
    (mask === undefined ? 0 : 0x80) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) head.writeUInt16BE(length, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2);
  if (mask === undefined) return Buffer.concat([head, payload]);
  const masked = Buffer.from(payload);
  applyMask(masked, mask);
  return Buffer.concat([head, mask, masked]);
}

/** In place; doing it twice undoes it. */
export function applyMask(payload: Buffer, mask: Buffer): void {
  for (let at = 0; at < payload.length; at++) payload[at]! ^= mask[at & 3]!;
}
