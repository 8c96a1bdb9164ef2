/**
 * Sends finished spans to a collector over OTLP/gRPC.
 *
 * Promises:
 * 1. `add` never waits and never fails. A full queue drops the span and counts it.
 * 2. Spans are sent in batches, at the latest DELAY_MS after the first of a batch. Nothing runs while
 * 2. No timer is set while there are no spans.
 * 3. A batch that the collector does not take is dropped; the next one is tried after a backoff. The
 *    failure is logged once until a batch is taken again.
 * 4. `close` sends what is queued, for at most CLOSE_MS.
 */
import { messageOf } from "../caught.ts";
import { GrpcClient } from "../grpc/grpc-client.ts";
import type { Logger } from "../logger.ts";
import type { Clock, Timer } from "../time/clock.ts";
import { EXPORT_TRACES, type OtlpKeyValue, type OtlpSpan } from "./otlp-messages.ts";

/** As OpenTelemetry's batch processor has them. */
const QUEUE_MAX = 2_048;
const BATCH_MAX = 512;
const DELAY_MS = 5_000;
const EXPORT_TIMEOUT_MS = 10_000;
const CLOSE_MS = 1_000;

export interface SpanExporterOptions {
  /** `host:port`, or `unix:` and a path. */
  readonly endpoint: string;
  /** Describes the process that the spans come from. */
  readonly resource: readonly OtlpKeyValue[];
  readonly scope: { readonly name: string; readonly version: string };
  readonly clock: Pick<Clock, "schedule">;
  readonly logger: Logger;
}

export class SpanExporter implements AsyncDisposable {
  readonly #options: SpanExporterOptions;
  readonly #client: GrpcClient;
  #queue: OtlpSpan[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #failing = false;
  #dropped = 0;
  #closed = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#client = new GrpcClient(options.endpoint);
  }

  /** Spans that were lost: the queue was full, or the collector did not take them. */
  get dropped(): number {
    return this.#dropped;
  }

  add(span: OtlpSpan): void {
    if (this.#closed || this.#queue.length >= QUEUE_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length >= BATCH_MAX) this.#send();
    else this.#timer ??= this.#options.clock.schedule(DELAY_MS, () => this.#send());
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    await this.#sending;
    while (this.#queue.length > 0 && !this.#failing) await this.#export(CLOSE_MS);
    this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #send(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#closed) return;
    this.#sending ??= this.#export(EXPORT_TIMEOUT_MS).finally(() => {
      this.#sending = undefined;
      if (this.#queue.length > 0) {
        this.#timer ??= this.#options.clock.schedule(DELAY_MS, () => this.#send());
      }
    });
  }

  async #export(timeoutMs: number): Promise<void> {
    const { resource, scope, logger, endpoint } = this.#options;
    const spans = this.#queue.slice(0, BATCH_MAX);
    this.#queue = this.#queue.slice(BATCH_MAX);
    const resourceSpans = [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }];
    try {
      await this.#client.call(EXPORT_TRACES, { resourceSpans }, { timeoutMs });
      if (this.#failing) logger.info("traces are exported again", { endpoint });
      this.#failing = false;
    } catch (error) {
      this.#dropped += spans.length;
      if (!this.#failing) {
        logger.warn("failed to upload traces", { endpoint, error: messageOf(error) });
      }
      this.#failing = true;
    }
  }
}
