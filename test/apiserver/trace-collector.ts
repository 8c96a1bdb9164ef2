/** An OTLP collector for tests: the reference implementation's gRPC server, which keeps spans. */
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { EXPORT_REQUEST, EXPORT_TRACES, type ReceivedTraces } from "#lib/tracing/otlp-messages.ts";

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly links: readonly string[];
  readonly statusCode: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly resource: Readonly<Record<string, string | number>>;
  readonly durationMs: number;
}

export interface TraceCollector extends AsyncDisposable {
  readonly endpoint: string;
  readonly spans: ReceivedSpan[];
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: ReceivedSpan[] = [];
  const server = new Server();
  const definition = {
    export: {
      path: EXPORT_TRACES.path,
      requestStream: false,
      responseStream: false,
      requestSerialize: (value: object) => EXPORT_REQUEST.encode(value),
      requestDeserialize: (bytes: Buffer) => EXPORT_REQUEST.decode(bytes),
      responseSerialize: () => Buffer.alloc(0),
      responseDeserialize: () => ({}),
    },
  };
  const take = ({ request }: { request: ReceivedTraces }, done: (e: null, v: object) => void) => {
    spans.push(...request.resourceSpans.flatMap(spansOf));
    done(null, {});
  };
  server.addService(definition, { export: take } as never);
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync("127.0.0.1:0", credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return {
    endpoint: `127.0.0.1:${port}`,
    spans,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

function spansOf({ resource, scopeSpans }: ReceivedTraces["resourceSpans"][number]) {
  const of = attributesOf(resource?.attributes ?? []);
  return scopeSpans.flatMap(({ spans }) =>
    spans.map(
      (span): ReceivedSpan => ({
        name: span.name,
        kind: span.kind,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        links: span.links.map(({ traceId, spanId }) => `${hex(traceId)}/${hex(spanId)}`),
        statusCode: span.status?.code ?? 0,
        attributes: attributesOf(span.attributes),
        resource: of,
        durationMs: Number(span.endTimeUnixNano - span.startTimeUnixNano) / 1e6,
      }),
    ),
  );
}

type KeyValues =
  ReceivedTraces["resourceSpans"][number]["scopeSpans"][number]["spans"][number]["attributes"];

function attributesOf(pairs: KeyValues): Record<string, string | number> {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [key, value?.stringValue || (value?.intValue ?? 0) || ""]),
  );
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
