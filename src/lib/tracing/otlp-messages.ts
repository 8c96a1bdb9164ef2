/** The messages of OTLP (OpenTelemetry's protocol) that traces are sent with. */
import type { GrpcMethod } from "../grpc/grpc-messages.ts";
import { message, type ReadOf, type WriteOf } from "../protobuf/message.ts";

const ANY_VALUE = message({
  stringValue: [1, "text"],
  boolValue: [2, "bool"],
  intValue: [3, "int"],
});
const KEY_VALUE = message({ key: [1, "text"], value: [2, { one: ANY_VALUE }] });
const LINK = message({ traceId: [1, "bytes"], spanId: [2, "bytes"], traceState: [3, "text"] });
const STATUS = message({ message: [2, "text"], code: [3, "int"] });

const SPAN = message({
  traceId: [1, "bytes"],
  spanId: [2, "bytes"],
  traceState: [3, "text"],
  parentSpanId: [4, "bytes"],
  name: [5, "text"],
  kind: [6, "int"],
  startTimeUnixNano: [7, "fixed64"],
  endTimeUnixNano: [8, "fixed64"],
  attributes: [9, { many: KEY_VALUE }],
  links: [13, { many: LINK }],
  status: [15, { one: STATUS }],
});

const SCOPE_SPANS = message({
  scope: [1, { one: message({ name: [1, "text"], version: [2, "text"] }) }],
  spans: [2, { many: SPAN }],
});

const RESOURCE_SPANS = message({
  resource: [1, { one: message({ attributes: [1, { many: KEY_VALUE }] }) }],
  scopeSpans: [2, { many: SCOPE_SPANS }],
});

export const EXPORT_REQUEST = message({ resourceSpans: [1, { many: RESOURCE_SPANS }] });

export type OtlpSpan = WriteOf<typeof SPAN>;
export type OtlpKeyValue = WriteOf<typeof KEY_VALUE>;
export type ReceivedTraces = ReadOf<typeof EXPORT_REQUEST>;

export const EXPORT_TRACES: GrpcMethod<WriteOf<typeof EXPORT_REQUEST>, object> = {
  path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
  request: EXPORT_REQUEST,
  response: message({}),
};
