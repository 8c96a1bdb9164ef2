/**
 * Health checks of Services with externalTrafficPolicy Local: a load balancer asks each node at the
 * Service's healthCheckNodePort whether it has endpoints of the Service.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";

export interface ServiceHealth {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Ready endpoints on this node. */
  readonly localEndpoints: number;
}

/** Undefined if the Service has no health check. */
export function decideServiceHealth(
  { metadata, spec }: Service,
  slices: Iterable<EndpointSlice>,
  nodeName: string,
): ServiceHealth | undefined {
  const port = spec.healthCheckNodePort ?? 0;
  const isLocal = spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
  if (!isLocal || port === 0) return undefined;
  const addresses = new Set<string>();
  for (const { endpoints } of slices) {
    for (const { addresses: ips, conditions, nodeName: node } of endpoints ?? []) {
      const [ip] = ips ?? [];
      if (ip !== undefined && node === nodeName && conditions?.ready !== false) addresses.add(ip);
    }
  }
  const { namespace = "", name = "" } = metadata;
  return { namespace, name, port, localEndpoints: addresses.size };
}
