/**
 * What the EndpointSlices of a namespace say: where the requests to each Service go, and whether it is ready.
 * Whoever wrote the slices, the endpointslice-controller or a user for a Service without a selector. Pure.
 */
import type { KubeObject } from "./kube-object.ts";
import { listOf, membersOf } from "./members.ts";

const SERVICE_LABEL = "kubernetes.io/service-name";

export interface Endpoint {
  /** The first of its addresses: all of them lead to the same place. */
  readonly address: string;
  /** Undefined: of no pod, such as a database outside of the cluster. */
  readonly podName: string | undefined;
  /** Of the slices that name it. */
  readonly isReady: boolean;
  readonly slice: KubeObject;
}

/** By the name of the Service. A pod with IPv4 and IPv6 is one endpoint, though two slices name it. */
export function endpointsOfServices(
  slices: readonly KubeObject[],
): ReadonlyMap<string, readonly Endpoint[]> {
  const services = new Map<string, Map<string, Endpoint>>();
  for (const slice of slices) {
    const service = slice.metadata.labels?.[SERVICE_LABEL];
    if (service === undefined) continue;
    const known = services.get(service) ?? new Map<string, Endpoint>();
    services.set(service, known);
    for (const endpoint of listOf(membersOf(slice).endpoints)) {
      const addresses: readonly unknown[] = Array.isArray(endpoint.addresses)
        ? endpoint.addresses
        : [];
      const { kind, name } = membersOf(endpoint.targetRef);
      const podName = kind === "Pod" && typeof name === "string" ? name : undefined;
      const address = addresses.find((each) => typeof each === "string");
      if (address === undefined) continue;
      const id = podName === undefined ? `address ${address}` : `pod ${podName}`;
      // Without the condition it is ready.
      const isReady = membersOf(endpoint.conditions).ready !== false;
      known.set(id, {
        address,
        podName,
        isReady: isReady || known.get(id)?.isReady === true,
        slice,
      });
    }
  }
  return new Map([...services].map(([service, known]) => [service, [...known.values()]]));
}
