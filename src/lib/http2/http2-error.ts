/** The error codes of HTTP/2 (RFC 9113, section 7), by name. */
export const HTTP2_CODES = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  SETTINGS_TIMEOUT: 4,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  CONNECT_ERROR: 10,
  ENHANCE_YOUR_CALM: 11,
  INADEQUATE_SECURITY: 12,
  HTTP_1_1_REQUIRED: 13,
} as const;

export type Http2Code = keyof typeof HTTP2_CODES;

const NAMES = Object.keys(HTTP2_CODES) as Http2Code[];

/** Codes that are not known count as INTERNAL_ERROR. */
export function http2CodeOf(number: number): Http2Code {
  return NAMES[number] ?? "INTERNAL_ERROR";
}

/** A stream or a whole connection failed. */
export class Http2Error extends Error {
  override readonly name = "Http2Error";
  readonly code: Http2Code;
  /** The server certainly did not act on the request, so it may be sent again. */
  readonly notProcessed: boolean;

  constructor(code: Http2Code, message: string, { notProcessed = false } = {}) {
    super(message);
    this.code = code;
    this.notProcessed = notProcessed;
  }
}
