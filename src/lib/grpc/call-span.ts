/** The span of a gRPC call, with the names that OpenTelemetry has for it. */
import type { Address } from "#lib/http2/connect-http2.ts";
import type { HeaderField } from "#lib/http2/hpack-static-table.ts";
import type { Attributes, Tracer } from "#lib/tracing/tracer.ts";
import { messageOf } from "../caught.ts";
import { GrpcError, goCodeName } from "./grpc-status.ts";

/** `send` gets the trace context, to be sent with the call. */
export async function inCallSpan<Response>(
  tracer: Tracer,
  path: string,
  address: Address,
  send: (metadata: readonly HeaderField[]) => Promise<Response>,
): Promise<Response> {
  const method = path.slice(1);
  const span = tracer.start({
    name: method,
    kind: "client",
    attributes: () => ({
      "rpc.method": method,
      "rpc.system.name": "grpc",
      ...addressAttributes(address),
    }),
  });
  try {
    const context = tracer.within(span, () => tracer.headers()) ?? {};
    const response = await send(Object.entries(context));
    span.end({ "rpc.response.status_code": "OK" });
    return response;
  } catch (error) {
    const code = error instanceof GrpcError ? goCodeName(error.code) : "Canceled";
    span.end({ "rpc.response.status_code": code }, { message: messageOf(error) });
    throw error;
  }
}

function addressAttributes(address: Address): Attributes {
  if ("path" in address) return { "server.address": address.path };
  return { "server.address": address.host, "server.port": address.port };
}
