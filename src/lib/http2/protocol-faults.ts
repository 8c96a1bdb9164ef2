/** What a server may do wrong, as errors of the connection or of a stream; and the checks of frames. */
import { FLAG, FRAME_BYTES_DEFAULT, frameLength } from "./frames.ts";
import { Http2Error } from "./http2-error.ts";

export function checkedLength(bytes: Buffer, offset: number): number {
  const length = frameLength(bytes, offset);
  if (length > FRAME_BYTES_DEFAULT) throw badSize("frame");
  return length;
}

export function withoutPadding(flags: number, payload: Buffer): Buffer {
  if ((flags & FLAG.padded) === 0) return payload;
  const padding = payload[0];
  if (padding === undefined || padding >= payload.length) throw broken("more padding than bytes");
  return payload.subarray(1, payload.length - padding);
}

export function lost(message: string, notProcessed = false): Http2Error {
  return new Http2Error("CONNECT_ERROR", message, { notProcessed });
}

export function broken(what: string): Http2Error {
  return new Http2Error("PROTOCOL_ERROR", `the server breaks the protocol: ${what}`);
}

export function badSize(what: string): Http2Error {
  return new Http2Error("FRAME_SIZE_ERROR", `the size of a ${what} is not allowed`);
}

export function overflow(): Http2Error {
  return new Http2Error("FLOW_CONTROL_ERROR", "the server overruns a window");
}
