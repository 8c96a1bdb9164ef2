/**
 * Finds an address behind a Service: a ready endpoint from its EndpointSlices, so that no service proxy
 * is needed on the server's machine. A Service of type ExternalName leads to that name.
 *
 * The addresses of a Service are worked out when they are first asked for and kept until the Service or
 * one of its slices changes. At most SERVICES_MAX are kept.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import {
  failure,
  internalErrorStatus,
  notFoundStatus,
  type Result,
  serviceUnavailableStatus,
  success,
} from "#api/meta/status.ts";
import type { Random } from "#lib/random.ts";
import type { Objects } from "../storage/objects.ts";

export interface ServicePort {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
}

const SERVICES_MAX = 1_024;
const SERVICE_LABEL = "kubernetes.io/service-name";

export class ServiceResolver {
  readonly #objects: Objects;
  readonly #random: Random;
  /** By namespace and name of the Service. */
  readonly #slices = new Map<string, readonly EndpointSlice[]>();

  /** Follows EndpointSlices until the signal aborts. */
  constructor(objects: Objects, random: Random, signal: AbortSignal) {
    this.#objects = objects;
    this.#random = random;
    objects.onChange(
      endpointSliceKind,
      (next, old) => {
        for (const slice of [next, old]) {
          if (slice !== undefined) this.#slices.delete(keyOf(slice));
        }
      },
      signal,
    );
  }

  resolve({ namespace, name, port }: ServicePort): Result<ServiceAddress> {
    const service = this.#objects.get(serviceKind, namespace, name);
    if (service === undefined) {
      return failure(notFoundStatus({ group: "", resource: "service" }, name));
    }
    const { type = "ClusterIP", externalName = "" } = service.spec;
    if (type === "ExternalName") return success({ host: externalName, port });
    const found = service.spec.ports?.find((one) => one.port === port);
    if (found === undefined) {
      const message = `no service port ${port} found for service "${name}"`;
      return failure(serviceUnavailableStatus(message));
    }
    const addresses = readyAddresses(this.slicesOf(namespace, name), found.name ?? "", service);
    if (addresses.length === 0) {
      return failure(serviceUnavailableStatus(`no endpoints available for service "${name}"`));
    }
    const chosen = addresses[this.#random.integer(addresses.length)];
    return chosen === undefined
      ? failure(internalErrorStatus(`no address of service "${name}" was chosen`))
      : success(chosen);
  }

  slicesOf(namespace: string, name: string): readonly EndpointSlice[] {
    const key = `${namespace}/${name}`;
    const known = this.#slices.get(key);
    if (known !== undefined) return known;
    const slices = [...this.#objects.list(endpointSliceKind, namespace)].filter(
      ({ metadata }) => metadata.labels?.[SERVICE_LABEL] === name,
    );
    if (this.#slices.size >= SERVICES_MAX) this.#slices.clear();
    this.#slices.set(key, slices);
    return slices;
  }
}

function keyOf({ metadata: { namespace = "", labels } }: EndpointSlice): string {
  return `${namespace}/${labels?.[SERVICE_LABEL] ?? ""}`;
}

/** Those of the Service's first address family, if there are any; else those of the other. */
function readyAddresses(
  slices: readonly EndpointSlice[],
  portName: string,
  { spec }: Service,
): readonly ServiceAddress[] {
  const all = slices.flatMap(({ addressType, endpoints, ports }) => {
    const port = ports?.find((one) => (one.name ?? "") === portName)?.port;
    if (port === undefined) return [];
    return (endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => {
        const host = addresses?.[0];
        return host === undefined ? [] : [{ addressType, host, port }];
      });
  });
  const preferred = all.filter(({ addressType }) => addressType === spec.ipFamilies?.[0]);
  return (preferred.length > 0 ? preferred : all).map(({ host, port }) => ({ host, port }));
}
