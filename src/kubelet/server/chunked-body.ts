/**
 * Sends a body of unknown length, each chunk as one buffer.
 *
 * Node writes a chunk as four buffers (size, newline, bytes, newline), which its TLS copies into newly allocated
 * memory as large as the chunk. Framed here, in memory that is used again, a large log takes a quarter less
 * processor time.
 */
import type { ServerResponse } from "node:http";
import { flushed } from "#lib/async/flushed.ts";

const FRAME_BYTES = 256 * 1024;
/** The size in hexadecimal digits, and the newlines. */
const FRAMING_BYTES_MAX = 16;

/** The reply's headers are not sent yet. Resolves when all is sent, or the client is gone. */
export async function sendChunks(
  reply: ServerResponse,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  reply.flushHeaders();
  // A client of HTTP/1.0 gets the bytes alone, until the connection ends.
  const isFramed = reply.chunkedEncoding;
  reply.chunkedEncoding = false;
  const frame = Buffer.allocUnsafeSlow(FRAME_BYTES);
  for await (const chunk of chunks) {
    for (const part of partsOf(chunk)) {
      await flushed(reply, isFramed ? framed(part, frame) : part);
      if (reply.destroyed) return;
    }
  }
  reply.end(isFramed ? "0\r\n\r\n" : "");
}

/** Nearly always it is one part. No part is empty: that would end the body. */
function* partsOf(chunk: Uint8Array): Iterable<Uint8Array> {
  const partBytes = FRAME_BYTES - FRAMING_BYTES_MAX;
  for (let at = 0; at < chunk.length; at += partBytes) yield chunk.subarray(at, at + partBytes);
}

function framed(part: Uint8Array, frame: Buffer): Buffer {
  const start = frame.write(`${part.length.toString(16)}\r\n`, "latin1");
  frame.set(part, start);
  const end = start + part.length;
  return frame.subarray(0, end + frame.write("\r\n", end, "latin1"));
}
