/** What of a Service matters to its load balancer. */
import type { LoadBalancerStatus, Service } from "#api/generated/core.v1.ts";

export const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";

/** With a loadBalancerClass the Service wants another implementation. */
export function wantsLoadBalancer({ spec }: Service): boolean {
  return spec.type === "LoadBalancer" && spec.loadBalancerClass === undefined;
}

export function hasFinalizer({ metadata }: Service): boolean {
  return metadata.finalizers?.includes(FINALIZER) ?? false;
}

/** The finalizer says that there may be a load balancer that has to go. */
export function needsCleanup(service: Service): boolean {
  if (!hasFinalizer(service)) return false;
  return service.metadata.deletionTimestamp !== undefined || service.spec.type !== "LoadBalancer";
}

/** The same for two Services between which the load balancer does not have to change. */
export function balancerFingerprint({ metadata, spec }: Service): string {
  return JSON.stringify([
    metadata.uid,
    Object.entries(metadata.annotations ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)),
    spec.ports?.map((p) => [p.name, p.protocol, p.port, p.nodePort, p.targetPort, p.appProtocol]),
    [spec.loadBalancerSourceRanges, spec.loadBalancerIP, spec.externalIPs],
    [spec.sessionAffinity, spec.sessionAffinityConfig?.clientIP?.timeoutSeconds],
    [spec.externalTrafficPolicy, spec.healthCheckNodePort],
    spec.ipFamilies?.length,
  ]);
}

/** As the API server stores it: an address without a mode is a virtual one. */
export function withDefaults({ ingress = [] }: LoadBalancerStatus): LoadBalancerStatus {
  if (ingress.length === 0) return {};
  return {
    ingress: ingress.map((entry) =>
      entry.ip === undefined || entry.ipMode !== undefined ? entry : { ...entry, ipMode: "VIP" },
    ),
  };
}

/** An empty text is the same as none. */
export function sameStatus(a: LoadBalancerStatus, b: LoadBalancerStatus): boolean {
  const text = ({ ingress = [] }: LoadBalancerStatus): string =>
    JSON.stringify(
      ingress.map(({ ip, hostname, ipMode, ports = [] }) => [
        ...[ip || undefined, hostname || undefined, ipMode],
        ports.map(({ port, protocol, error }) => [port, protocol, error]),
      ]),
    );
  return text(a) === text(b);
}
