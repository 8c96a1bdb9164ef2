/** The status of a gRPC call: numbers and names of the protocol, and where a status comes from. */
import type { HeaderField } from "#lib/http2/hpack-static-table.ts";
import type { Http2Error } from "#lib/http2/http2-error.ts";

export const GRPC_CODES = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

const NAMES = Object.keys(GRPC_CODES);

/** `DEADLINE_EXCEEDED`; `UNKNOWN` for a number that has no name. */
export function grpcCodeName(code: number): string {
  return NAMES[code] ?? "UNKNOWN";
}

/** As Go writes it: `DeadlineExceeded`. CANCELLED is spelled in another way, OK stays as it is. */
export function goCodeName(code: number): string {
  if (code === GRPC_CODES.OK) return "OK";
  if (code === GRPC_CODES.CANCELLED) return "Canceled";
  const words = grpcCodeName(code).toLowerCase().split("_");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

export class GrpcError extends Error {
  override readonly name = "GrpcError";
  readonly code: number;
  /** The server certainly did not act on the call, so it may be repeated. */
  readonly notProcessed: boolean;

  constructor(code: number, message: string, { notProcessed = false } = {}) {
    super(message);
    this.code = code;
    this.notProcessed = notProcessed;
  }
}

export function internalError(message: string): GrpcError {
  return new GrpcError(GRPC_CODES.INTERNAL, message);
}

export function errorOfHttp2({ code, message, notProcessed }: Http2Error): GrpcError {
  if (notProcessed) return new GrpcError(GRPC_CODES.UNAVAILABLE, message, { notProcessed });
  if (code === "CONNECT_ERROR") return new GrpcError(GRPC_CODES.UNAVAILABLE, message);
  if (code === "CANCEL") return new GrpcError(GRPC_CODES.CANCELLED, message);
  if (code === "ENHANCE_YOUR_CALM") return new GrpcError(GRPC_CODES.RESOURCE_EXHAUSTED, message);
  if (code === "INADEQUATE_SECURITY") return new GrpcError(GRPC_CODES.PERMISSION_DENIED, message);
  return internalError(message);
}

/** Why the headers of an answer are not those of a gRPC server; undefined if they are. */
export function errorOfHeaders(fields: readonly HeaderField[]): GrpcError | undefined {
  const status = fieldOf(fields, ":status") ?? "";
  if (status !== "200") {
    const code = CODE_OF_HTTP_STATUS[status] ?? GRPC_CODES.UNKNOWN;
    return new GrpcError(code, `the server answered with HTTP status ${status}`);
  }
  const type = fieldOf(fields, "content-type") ?? "";
  if (type.startsWith("application/grpc")) return undefined;
  return new GrpcError(GRPC_CODES.UNKNOWN, `the server answered with content-type "${type}"`);
}

const CODE_OF_HTTP_STATUS: Readonly<Record<string, number>> = {
  "400": GRPC_CODES.INTERNAL,
  "401": GRPC_CODES.UNAUTHENTICATED,
  "403": GRPC_CODES.PERMISSION_DENIED,
  "404": GRPC_CODES.UNIMPLEMENTED,
  "429": GRPC_CODES.UNAVAILABLE,
  "502": GRPC_CODES.UNAVAILABLE,
  "503": GRPC_CODES.UNAVAILABLE,
  "504": GRPC_CODES.UNAVAILABLE,
};

/** How a call ended, from its trailers; undefined for OK. */
export function errorOfTrailers(fields: readonly HeaderField[]): GrpcError | undefined {
  const status = fieldOf(fields, "grpc-status");
  if (status === "0") return undefined;
  const code = status === undefined ? GRPC_CODES.UNKNOWN : Number(status);
  const message = fieldOf(fields, "grpc-message");
  const isKnown = Number.isInteger(code) && code >= 0;
  return new GrpcError(
    isKnown ? code : GRPC_CODES.UNKNOWN,
    message === undefined ? "the server gave no reason" : percentDecoded(message),
  );
}

export function hasGrpcStatus(fields: readonly HeaderField[]): boolean {
  return fieldOf(fields, "grpc-status") !== undefined;
}

function fieldOf(fields: readonly HeaderField[], wanted: string): string | undefined {
  for (const [name, value] of fields) if (name === wanted) return value;
  return undefined;
}

/** What is not valid stays as it is. */
function percentDecoded(message: string): string {
  if (!message.includes("%")) return message;
  const bytes = message.replace(/%([0-9a-fA-F]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(bytes, "latin1").toString();
}
