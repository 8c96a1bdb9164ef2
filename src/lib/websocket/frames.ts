/**
 * Data frames of a WebSocket server as bytes, for messages that many connections send alike: they
 * are put together once. Everything else is sent by `WebSocketConnection`.
 */

const OPCODES = { text: 1, binary: 2 } as const;
const FINAL = 0x80;

/** A whole message in one frame, not masked. */
export function encodeFrame(form: keyof typeof OPCODES, payload: Uint8Array): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 0x1_00_00 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes);
  head[0] = FINAL | OPCODES[form];
  head[1] = lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127;
  if (lengthBytes === 2) head.writeUInt16BE(length, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
