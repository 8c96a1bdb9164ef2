/** EndpointSlices as objects: what those of a service are called, labelled and compared by. */

import type { Service } from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { controllerReference } from "../shared/ownership.ts";
import { HEADLESS, isHeadless, TRIGGER_TIME } from "./service-pods.ts";

export const SERVICE_NAME = "kubernetes.io/service-name";
export const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
export const MANAGER = "endpointslice-controller.k8s.io";
const RESERVED = new Set([SERVICE_NAME, MANAGED_BY, HEADLESS]);
const GENERATED_NAME_MAX = 253;

export type Family = "IPv4" | "IPv6";

/** A slice as it should be, and as it is if it exists. */
export interface SliceDraft {
  readonly slice: EndpointSlice;
  readonly old?: EndpointSlice;
}

/** Whether a draft says what is there already. */
export function isUnchanged({ slice, old }: SliceDraft, service: Service): boolean {
  return (
    old !== undefined &&
    hasLabels(old, service) &&
    semanticEqual(slice.ports ?? [], old.ports ?? []) &&
    semanticEqual(withoutRevisions(slice), withoutRevisions(old))
  );
}

export function newSlice(
  service: Service,
  addressType: Family,
  ports: readonly EndpointPort[],
  endpoints: readonly Endpoint[],
): EndpointSlice {
  const { namespace } = service.metadata;
  return {
    apiVersion: endpointSliceKind.apiVersion,
    kind: "EndpointSlice",
    metadata: {
      generateName: namePrefix(service.metadata.name ?? ""),
      ...(namespace === undefined ? {} : { namespace }),
      labels: sliceLabels(service),
      ownerReferences: [controllerReference(serviceKind, service)],
    },
    addressType,
    endpoints,
    ports,
  };
}

/** With a dash, if the name is not too long for it. */
export function namePrefix(serviceName: string): string {
  return serviceName.length < GENERATED_NAME_MAX ? `${serviceName}-` : serviceName;
}

export function sliceLabels(service: Service): Readonly<Record<string, string>> {
  return {
    ...ownLabels(service.metadata.labels),
    ...(isHeadless(service) ? { [HEADLESS]: "" } : {}),
    [SERVICE_NAME]: service.metadata.name ?? "",
    [MANAGED_BY]: MANAGER,
  };
}

export function hasLabels({ metadata }: EndpointSlice, service: Service): boolean {
  return semanticEqual(ownLabels(metadata.labels), ownLabels(service.metadata.labels));
}

function ownLabels(labels: Readonly<Record<string, string>> = {}) {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !RESERVED.has(key)));
}

export function isOwned({ metadata }: EndpointSlice, service: Service): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ uid, kind, apiVersion }) =>
      uid === service.metadata.uid && kind === "Service" && apiVersion === "v1",
  );
}

export function isPlaceholder(slice: EndpointSlice, service: Service): boolean {
  return (
    isOwned(slice, service) &&
    (slice.endpoints ?? []).length + (slice.ports ?? []).length === 0 &&
    semanticEqual(slice.metadata.labels, sliceLabels(service))
  );
}

function withoutRevisions({ endpoints }: EndpointSlice): unknown {
  return (endpoints ?? []).map(({ targetRef, ...rest }) => {
    const { resourceVersion: _, ...reference } = targetRef ?? {};
    return { ...rest, reference };
  });
}

export function withTriggerTime(slice: EndpointSlice, time: string | undefined): EndpointSlice {
  const { annotations, ...metadata } = slice.metadata;
  const { [TRIGGER_TIME]: _, ...kept } = annotations ?? {};
  const next = time === undefined ? kept : { ...kept, [TRIGGER_TIME]: time };
  const isEmpty = Object.keys(next).length === 0;
  return { ...slice, metadata: isEmpty ? metadata : { ...metadata, annotations: next } };
}
