/**
 * Makes spans. The current span follows the asynchronous calls that are made within it, so that a
 * part deep below (a webhook call) finds its parent without being handed it.
 *
 * Whether a trace is recorded is decided once, at its first span: by the parent if there is one, else
 * by the sampling rate and the trace's id, as OpenTelemetry's ParentBased(TraceIDRatioBased) does.
 * Spans of traces that are not recorded still pass the context on, and cost no more than that.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { MaybePromise } from "../async/maybe-promise.ts";
import { messageOf } from "../caught.ts";
import type { Random } from "../random.ts";
import type { Clock } from "../time/clock.ts";
import type { OtlpKeyValue, OtlpSpan } from "./otlp-messages.ts";
import { type SpanContext, type TraceHeaders, traceHeaders } from "./trace-context.ts";

/** Longer values are cut, so that the queue of spans stays small. */
const VALUE_LENGTH_MAX = 1_024;
const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface TracerOptions {
  /** Of a million traces that begin here. */
  readonly samplingRatePerMillion: number;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
  readonly exporter: { add(span: OtlpSpan): void };
}

export interface SpanOptions {
  readonly name: string;
  readonly kind?: keyof typeof KINDS;
  /** Of another process. The current span is the parent unless this is given. */
  readonly parent?: SpanContext | undefined;
  /** A span of another trace that caused this one. */
  readonly link?: SpanContext | undefined;
  readonly startMs?: number;
  /** Called only if the span is recorded. */
  attributes?(): Attributes;
}

export interface Span {
  readonly context: SpanContext;
  /** Later calls count no more. */
  end(attributes?: Attributes, error?: { readonly message: string }): void;
}

export class Tracer {
  readonly #options: TracerOptions;
  readonly #current = new AsyncLocalStorage<SpanContext>();

  constructor(options: TracerOptions) {
    this.#options = options;
  }

  /** The trace context headers for a call to another server. */
  headers(): TraceHeaders | undefined {
    const current = this.#current.getStore();
    return current && traceHeaders(current);
  }

  get isActive(): boolean {
    return this.#current.getStore() !== undefined;
  }

  start(options: SpanOptions): Span {
    const parent = options.parent ?? this.#current.getStore();
    const context = this.#contextOf(parent);
    if (!context.sampled) return { context, end: () => undefined };
    const startMs = options.startMs ?? this.#options.clock.nowMs();
    const attributes = options.attributes?.() ?? {};
    let ended = false;
    const end: Span["end"] = (more = {}, error) => {
      if (ended) return;
      ended = true;
      const endMs = Math.max(startMs, this.#options.clock.nowMs());
      const all = { ...attributes, ...more };
      this.#options.exporter.add({
        ...spanOf(options, context, parent, all),
        startTimeUnixNano: nanosecondsOf(startMs),
        endTimeUnixNano: nanosecondsOf(endMs),
        ...(error === undefined ? {} : { status: { code: STATUS_ERROR, ...error } }),
      });
    };
    return { context, end };
  }

  /** Runs `work` with the span as the current one. The caller ends the span. */
  within<T>(span: Span, work: () => T): T {
    return this.#current.run(span.context, work);
  }

  /** A span as long as `work` takes; one that rejects is an error. */
  async span<T>(options: SpanOptions, work: () => Promise<T>): Promise<T> {
    const span = this.start(options);
    try {
      const result = await this.within(span, work);
      span.end();
      return result;
    } catch (error) {
      span.end({}, { message: messageOf(error) });
      throw error;
    }
  }

  /** A span below the current one, as long as `work` takes. Without a current span there is none. */
  child<T>(options: SpanOptions, work: () => MaybePromise<T>): MaybePromise<T> {
    if (!this.isActive) return work();
    const span = this.start(options);
    const fail = (error: unknown): never => {
      span.end({}, { message: messageOf(error) });
      throw error;
    };
    const end = (result: T): T => {
      span.end();
      return result;
    };
    try {
      const result = this.within(span, work);
      return result instanceof Promise ? result.then(end, fail) : end(result);
    } catch (error) {
      return fail(error);
    }
  }

  #contextOf(parent: SpanContext | undefined): SpanContext {
    const spanId = this.#hex(2);
    if (parent !== undefined) return { ...parent, spanId };
    // The lower half decides, without its last bit.
    const lower = this.#hex(2);
    const share = Number.parseInt(lower.slice(0, 12), 16) / 2 ** 48;
    const sampled = share < this.#options.samplingRatePerMillion / 1e6;
    return { traceId: this.#hex(2) + lower, spanId, sampled, state: "" };
  }

  /** Groups of eight digits; ids must not be zero. */
  #hex(groups: number): string {
    const group = (): string =>
      (1 + this.#options.random.integer(2 ** 32 - 1)).toString(16).padStart(8, "0");
    return Array.from({ length: groups }, group).join("");
  }
}

function spanOf(
  { name, kind = "internal", link }: SpanOptions,
  { traceId, spanId, state }: SpanContext,
  parent: SpanContext | undefined,
  attributes: Attributes,
): OtlpSpan {
  return {
    traceId: Buffer.from(traceId, "hex"),
    spanId: Buffer.from(spanId, "hex"),
    traceState: state,
    ...(parent === undefined ? {} : { parentSpanId: Buffer.from(parent.spanId, "hex") }),
    name,
    kind: KINDS[kind],
    attributes: keyValues(attributes),
    ...(link === undefined ? {} : { links: [linkTo(link)] }),
  };
}

function linkTo({ traceId, spanId, state }: SpanContext) {
  const ids = { traceId: Buffer.from(traceId, "hex"), spanId: Buffer.from(spanId, "hex") };
  return { ...ids, traceState: state };
}

export function keyValues(attributes: Attributes): OtlpKeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]): OtlpKeyValue[] => {
    if (value === undefined) return [];
    if (typeof value === "number") return [{ key, value: { intValue: value } }];
    if (typeof value === "boolean") return [{ key, value: { boolValue: value } }];
    return [{ key, value: { stringValue: value.slice(0, VALUE_LENGTH_MAX) } }];
  });
}

function nanosecondsOf(ms: number): bigint {
  return BigInt(Math.round(ms * 1000)) * 1000n;
}
