/**
 * W3C Trace Context: the headers `traceparent` and `tracestate`, which name the span that a request
 * is part of. A header that is not well-formed is ignored, as the specification says.
 */
export interface SpanContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  readonly sampled: boolean;
  /** The header `tracestate`, which is forwarded unchanged. */
  readonly state: string;
}

const STATE_LENGTH_MAX = 512;
const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

export function parseTraceparent(
  parent: string | undefined,
  state: string | undefined,
): SpanContext | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] =
    parent === undefined ? [] : (PARENT.exec(parent) ?? []);
  if (version === undefined || version === "ff") return undefined;
  if (version === "00" && more !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const sampled = (Number.parseInt(flags, 16) & 1) === 1;
  const kept = state !== undefined && state.length <= STATE_LENGTH_MAX ? state : "";
  return { traceId, spanId, sampled, state: kept };
}

export function traceHeaders({ traceId, spanId, sampled, state }: SpanContext): TraceHeaders {
  const traceparent = `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
  return state === "" ? { traceparent } : { traceparent, tracestate: state };
}

export interface TraceHeaders {
  readonly traceparent: string;
  readonly tracestate?: string;
}
