/** Messages on a gRPC stream: each has a flag (compressed or not) and its length in front. */
import { UnitSplitter } from "#lib/http2/split-units.ts";
import { GRPC_CODES, GrpcError, internalError } from "./grpc-status.ts";

const PREFIX_BYTES = 5;

/** One method of a service: `/runtime.v1.RuntimeService/Version`. */
export interface GrpcMethod<Request, Response> {
  readonly path: string;
  readonly request: { encode(message: Request): Buffer };
  readonly response: { decode(bytes: Uint8Array): Response };
}

export function messagePrefix(length: number): Buffer {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix[0] = 0;
  prefix.writeUInt32BE(length, 1);
  return prefix;
}

/** The one message that a chunk of data consists of, as most do; undefined if it is none or too long. */
export function onlyMessage(chunk: Buffer, bytesMax: number): Buffer | undefined {
  const length = chunk.length - PREFIX_BYTES;
  if (length < 0 || length > bytesMax || chunk[0] !== 0) return undefined;
  return chunk.readUInt32BE(1) === length ? chunk.subarray(PREFIX_BYTES) : undefined;
}

/** Cuts data into messages. `push` throws GrpcError for one that is too long, compressed or unreadable. */
export function messageCutter<Response>(
  decode: (bytes: Uint8Array) => Response,
  bytesMax: number,
  take: (message: Response) => void,
): UnitSplitter {
  return new UnitSplitter({
    headerBytes: PREFIX_BYTES,
    bodyLength(bytes, offset) {
      if (bytes[offset] !== 0) throw internalError("the server compresses, which was not offered");
      const length = bytes.readUInt32BE(offset + 1);
      if (length <= bytesMax) return length;
      const message = `Received message larger than max (${length} vs ${bytesMax})`;
      throw new GrpcError(GRPC_CODES.RESOURCE_EXHAUSTED, message);
    },
    take: (bytes, offset, end) =>
      take(decodeMessage(decode, bytes.subarray(offset + PREFIX_BYTES, end))),
  });
}

/** Throws GrpcError for what cannot be read. */
export function decodeMessage<Response>(
  decode: (bytes: Uint8Array) => Response,
  bytes: Uint8Array,
): Response {
  try {
    return decode(bytes);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw internalError(`the server's message cannot be read: ${error.message}`);
  }
}
