/**
 * Tells in each APIService's status whether the API behind it can be reached. What this server serves
 * itself always can; requests are not forwarded to other servers yet, so what is served by them cannot,
 * and the first thing that stands in the way is told.
 */

import type { APIService, ServiceReference } from "#api/generated/apiregistration.v1.ts";
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import type { Objects } from "../storage/objects.ts";

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

export interface Backend {
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/** Pure: the first thing that keeps a Service from being asked. */
export function decideAvailability(
  { name = "", namespace = "", port = 443 }: ServiceReference,
  { service, slices }: Backend,
): Availability {
  const where = `service/${name} in ${JSON.stringify(namespace)}`;
  const unavailable = (reason: string, message: string): Availability => ({
    status: "False",
    reason,
    message,
  });
  if (service === undefined) return unavailable("ServiceNotFound", `${where} is not present`);
  if (service.spec.type === "ClusterIP") {
    const found = service.spec.ports?.find((one) => one.port === port);
    if (found === undefined) {
      return unavailable("ServicePortError", `${where} is not listening on port ${port}`);
    }
    if (slices.length === 0) {
      return unavailable("EndpointsNotFound", `cannot find endpointslices for ${where}`);
    }
    const portName = found.name ?? "";
    if (!slices.some((slice) => hasEndpoint(slice, portName))) {
      const message = `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`;
      return unavailable("MissingEndpoints", message);
    }
  }
  const message = `failing or missing response from ${where}: requests are not forwarded`;
  return unavailable("FailedDiscoveryCheck", message);
}

function hasEndpoint({ endpoints, ports }: EndpointSlice, portName: string): boolean {
  const ready = endpoints?.some(({ conditions }) => conditions?.ready !== false) ?? false;
  const named = ports?.some((one) => one.name === portName && one.port !== undefined) ?? false;
  return ready && named;
}

const SERVICE_LABEL = "kubernetes.io/service-name";

/** Follows APIServices and what is behind them until aborted. */
export function tellAvailability(
  objects: Objects,
  clock: Pick<Clock, "nowMs">,
  logger: Logger,
  signal: AbortSignal,
): void {
  const remote = new Map<string, ServiceReference>();
  const check = (name: string): void => {
    const apiService = objects.get(apiServiceKind, "", name);
    if (apiService === undefined) return;
    const wanted = availabilityOf(objects, apiService.spec.service);
    if (isTold(apiService, wanted)) return;
    void objects
      .mutate(apiServiceKind, "", name, (draft) => {
        const before = draft.status?.conditions?.find(({ type }) => type === "Available");
        const others = (draft.status?.conditions ?? []).filter(({ type }) => type !== "Available");
        const lastTransitionTime =
          before?.status === wanted.status && before.lastTransitionTime !== undefined
            ? before.lastTransitionTime
            : timeFromMs(clock.nowMs());
        const condition = { type: "Available", ...wanted, lastTransitionTime };
        draft.status = { ...draft.status, conditions: [...others, condition] };
        return undefined;
      })
      .then((result) => {
        if (result.ok || result.status.reason === "NotFound") return;
        const why = result.status.message;
        logger.warn("the status of an APIService could not be written", { name, why });
      });
  };
  const follow = (next: APIService | undefined, old: APIService | undefined): void => {
    const name = (next ?? old)?.metadata.name ?? "";
    const service = next?.spec.service;
    if (service === undefined) remote.delete(name);
    else remote.set(name, service);
    if (next !== undefined) check(name);
  };
  const checkBackend = (namespace: string | undefined, name: string | undefined): void => {
    for (const [apiService, service] of remote) {
      if (service.namespace === namespace && service.name === name) check(apiService);
    }
  };
  objects.onChange(apiServiceKind, follow, signal);
  objects.onChange(
    serviceKind,
    (next, old) => {
      const { namespace, name } = (next ?? old)!.metadata;
      checkBackend(namespace, name);
    },
    signal,
  );
  objects.onChange(
    endpointSliceKind,
    (next, old) => {
      if (remote.size === 0) return;
      const { namespace, labels } = (next ?? old)!.metadata;
      checkBackend(namespace, labels?.[SERVICE_LABEL]);
    },
    signal,
  );
  for (const apiService of objects.list(apiServiceKind)) follow(apiService, undefined);
}

function availabilityOf(objects: Objects, service: ServiceReference | undefined): Availability {
  if (service === undefined) return LOCAL;
  const { namespace = "", name = "" } = service;
  const slices = [...objects.list(endpointSliceKind, namespace)].filter(
    ({ metadata }) => metadata.labels?.[SERVICE_LABEL] === name,
  );
  const found = name === "" ? undefined : objects.get(serviceKind, namespace, name);
  return decideAvailability(service, { service: found, slices });
}

function isTold({ status }: APIService, wanted: Availability): boolean {
  const told = status?.conditions?.find(({ type }) => type === "Available");
  return (
    told?.status === wanted.status &&
    told.reason === wanted.reason &&
    told.message === wanted.message
  );
}
