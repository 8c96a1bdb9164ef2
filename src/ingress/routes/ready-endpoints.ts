/**
 * EndpointSlices of a Service → addresses that take requests.
 *
 * Promises, as the proxy has them:
 * 1. Ready endpoints. If there are none: those that terminate but still serve.
 * 2. Each address and port once, in a stable order.
 */
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";

export interface EndpointAddress {
  readonly host: string;
  readonly port: number;
}

export function readyEndpoints(
  slices: readonly EndpointSlice[],
  portName: string,
): readonly EndpointAddress[] {
  const ready = new Map<string, EndpointAddress>();
  const serving = new Map<string, EndpointAddress>();
  for (const { addressType, endpoints, ports } of slices) {
    if (addressType === "FQDN") continue;
    const found = ports?.find(
      ({ name = "", protocol = "TCP" }) => name === portName && protocol === "TCP",
    );
    if (found?.port === undefined) continue;
    for (const { addresses, conditions } of endpoints ?? []) {
      // All addresses of an endpoint lead to the same place: the first is enough.
      const host = addresses?.[0];
      if (host === undefined) continue;
      const endpoint = { host, port: found.port };
      if (conditions.ready !== false) ready.set(`${host} ${found.port}`, endpoint);
      else if (conditions.serving === true) serving.set(`${host} ${found.port}`, endpoint);
    }
  }
  const chosen = ready.size > 0 ? ready : serving;
  return [...chosen].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
}
