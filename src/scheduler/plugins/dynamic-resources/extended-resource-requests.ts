/**
 * The device requests of a pod whose extended resources are backed by devices. A container and a
 * sidecar have devices of their own. Init containers, which run before, use the devices of those
 * that start later, and share what they need beyond that.
 */
import type { Container, ContainerExtendedResourceRequest, Pod } from "#api/generated/core.v1.ts";
import type { DeviceRequest } from "#api/generated/resource.v1.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";

export interface ExtendedRequests {
  readonly requests: readonly DeviceRequest[];
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

interface CountedRequest {
  readonly name: string;
  readonly count: number;
}

/** `classes` has the name of the device class for each resource. */
export function extendedRequests(
  { spec }: Pod,
  classes: ReadonlyMap<string, string>,
): ExtendedRequests {
  const inits = spec.initContainers ?? [];
  const containers = [...inits, ...(spec.containers ?? [])];
  const isShortLived = (index: number): boolean =>
    index < inits.length && containers[index]!.restartPolicy !== "Always";
  const requests: DeviceRequest[] = [];
  const mappings: ContainerExtendedResourceRequest[] = [];
  for (const resource of [...classes.keys()].sort()) {
    const own = containers.map((container, index) =>
      isShortLived(index) ? undefined : requestOf(container, index, resource, 0),
    );
    for (const [index, container] of containers.entries()) {
      if (own[index] !== undefined) mappings.push(mapping(container, resource, own[index].name));
    }
    const short = containers.flatMap((container, index) =>
      isShortLived(index) ? [usesOf(container, index, resource, own.slice(index))] : [],
    );
    const extra = largest(short.flatMap(({ more }) => more ?? []));
    for (const { container, reused, more } of short) {
      for (const { name } of reused) mappings.push(mapping(container, resource, name));
      if (more !== undefined) mappings.push(mapping(container, resource, extra!.name));
    }
    for (const one of [extra, ...own]) {
      if (one !== undefined) requests.push(deviceRequest(one, classes.get(resource)!));
    }
  }
  return { requests: requests.sort((a, b) => (a.name < b.name ? -1 : 1)), mappings };
}

/** What a container that ends before the others start can use of theirs, and what it needs beyond. */
function usesOf(
  container: Container,
  index: number,
  resource: string,
  later: readonly (CountedRequest | undefined)[],
): { container: Container; reused: readonly CountedRequest[]; more: CountedRequest | undefined } {
  const wanted = amountOf(container, resource);
  const reused: CountedRequest[] = [];
  let found = 0;
  for (const one of later) {
    if (found >= wanted) break;
    if (one === undefined) continue;
    reused.push(one);
    found += one.count;
  }
  const more = found < wanted ? requestOf(container, index, resource, found) : undefined;
  return { container, reused, more };
}

/** Named after the place of the container and of the resource among its requests. */
function requestOf(
  container: Container,
  index: number,
  resource: string,
  found: number,
): CountedRequest | undefined {
  const count = amountOf(container, resource) - found;
  if (count <= 0) return undefined;
  const names = Object.keys(container.resources?.requests ?? {}).sort();
  return { name: `container-${index}-request-${names.indexOf(resource)}`, count };
}

function amountOf({ resources }: Container, resource: string): number {
  const text = resources?.requests?.[resource];
  return text === undefined ? 0 : quantityValue(quantityOf(text));
}

/** The first of the largest. */
function largest(requests: readonly CountedRequest[]): CountedRequest | undefined {
  let most: CountedRequest | undefined;
  for (const one of requests) if (most === undefined || one.count > most.count) most = one;
  return most;
}

function mapping(
  { name }: Container,
  resourceName: string,
  requestName: string,
): ContainerExtendedResourceRequest {
  return { containerName: name, resourceName, requestName };
}

function deviceRequest({ name, count }: CountedRequest, deviceClassName: string): DeviceRequest {
  return { name, exactly: { deviceClassName, allocationMode: "ExactCount", count } };
}
