/** Whether the API behind an APIService can be reached, as far as Services and EndpointSlices say. Pure. */
import type { ServiceReference } from "#api/generated/apiregistration.v1.ts";
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";

/** The condition Available, without its time. */
export interface Availability {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

export const LOCAL: Availability = {
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
};

export const PASSED: Availability = {
  status: "True",
  reason: "Passed",
  message: "all checks passed",
};

export function unavailable(reason: string, message: string): Availability {
  return { status: "False", reason, message };
}

export interface Backend {
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/** The first thing that keeps a Service from being asked; undefined if it can be asked. */
export function whyUnavailable(
  { name = "", namespace = "", port = 443 }: ServiceReference,
  { service, slices }: Backend,
): Availability | undefined {
  const where = `service/${name} in ${JSON.stringify(namespace)}`;
  if (service === undefined) return unavailable("ServiceNotFound", `${where} is not present`);
  if (service.spec.type !== "ClusterIP") return undefined;
  const found = service.spec.ports?.find((one) => one.port === port);
  if (found === undefined) {
    return unavailable("ServicePortError", `${where} is not listening on port ${port}`);
  }
  if (slices.length === 0) {
    return unavailable("EndpointsNotFound", `cannot find endpointslices for ${where}`);
  }
  const portName = found.name ?? "";
  if (slices.some((slice) => hasEndpoint(slice, portName))) return undefined;
  const message = `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`;
  return unavailable("MissingEndpoints", message);
}

function hasEndpoint({ endpoints, ports }: EndpointSlice, portName: string): boolean {
  const ready = endpoints?.some(({ conditions }) => conditions?.ready !== false) ?? false;
  const named = ports?.some((one) => (one.name ?? "") === portName && one.port !== undefined);
  return ready && named === true;
}
