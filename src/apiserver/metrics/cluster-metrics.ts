/** Metrics of cluster state: allocated Service addresses, availability of APIServices. */
import type { APIService } from "#api/generated/apiregistration.v1.ts";
import { apiServiceKind } from "#api/kinds/apiregistration/v1/api-service.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { ipAddressKind } from "#api/kinds/networking/v1/ip-address.ts";
import { type AddressRange, contains } from "#api/meta/address-range.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { IpAllocator } from "../services/ip-allocator.ts";
import type { PortRange } from "../services/port-allocator.ts";
import type { Objects } from "../storage/objects.ts";

export function addClusterMetrics(
  metrics: Metrics,
  objects: Objects,
  addresses: Pick<IpAllocator, "ranges">,
  nodePorts: PortRange,
  signal: AbortSignal,
): void {
  const ofRanges = (name: string, help: string, read: (range: AddressRange) => number): void =>
    metrics.gaugesOf(
      { name: `kube_apiserver_clusterip_allocator_${name}`, help, labels: ["cidr"] },
      () => addresses.ranges().map((range) => ({ labels: [range.cidr], value: read(range) })),
    );
  const taken = (range: AddressRange): number => {
    let count = 0;
    for (const { metadata } of objects.list(ipAddressKind)) {
      if (contains(range, metadata.name ?? "")) count += 1;
    }
    return count;
  };
  ofRanges("allocated_ips", "Addresses of Services that are taken.", taken);
  ofRanges(
    "available_ips",
    "Addresses of Services that are free.",
    (range) => Number(range.last - range.first + 1n) - taken(range),
  );
  const ports = (): number => {
    let count = 0;
    for (const { spec } of objects.list(serviceKind)) {
      count += (spec.ports ?? []).filter(({ nodePort }) => (nodePort ?? 0) > 0).length;
      if ((spec.healthCheckNodePort ?? 0) > 0) count += 1;
    }
    return count;
  };
  metrics.gaugeOf(
    {
      name: "kube_apiserver_nodeport_allocator_allocated_ports",
      help: "Ports of nodes that Services have taken.",
    },
    ports,
  );
  metrics.gaugeOf(
    {
      name: "kube_apiserver_nodeport_allocator_available_ports",
      help: "Ports of nodes that are free for Services.",
    },
    () => nodePorts.last - nodePorts.first + 1 - ports(),
  );
  metrics.gaugesOf(
    {
      name: "aggregator_unavailable_apiservice",
      help: "Whether an API cannot be reached, 1 if so.",
      labels: ["name"],
    },
    () =>
      [...objects.list(apiServiceKind)].map((api) => {
        const value = availabilityOf(api)?.status === "False" ? 1 : 0;
        return { labels: [api.metadata.name ?? ""], value };
      }),
  );
  const unavailable = metrics.counter({
    name: "aggregator_unavailable_apiservice_total",
    help: "How often an API could not be reached any more, by the reason.",
    labels: ["name", "reason"],
  });
  objects.onChange(
    apiServiceKind,
    (next, old) => {
      const now = availabilityOf(next);
      if (now?.status !== "False" || availabilityOf(old)?.status === "False") return;
      unavailable(next?.metadata.name ?? "", now.reason ?? "").add(1);
    },
    signal,
  );
}

function availabilityOf(api: APIService | undefined) {
  return api?.status?.conditions?.find(({ type }) => type === "Available");
}
