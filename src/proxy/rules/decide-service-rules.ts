/** Decides the rules of one Service on one node: a pure function of the Service and its slices. */
import type { Service, ServicePort } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { addressesOf, type IpFamily, isInNetwork, networksOf } from "#api/meta/ip-family.ts";
import { chooseEndpoints } from "./choose-endpoints.ts";
import { type Endpoint, endpointsByPort, portKey } from "./endpoint.ts";
import type { Policy, Protocol, Refusal, ServicePortRules } from "./service-rules.ts";

/** Services with this label belong to another proxy. */
export const PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name";

const AFFINITY_SECONDS_DEFAULT = 10_800;

export interface NodeFacts {
  readonly nodeName: string;
  readonly zone: string;
  /** The node's own addresses, of both families. */
  readonly nodeIps: readonly string[];
}

/** Headless Services, ExternalName and Services without an address of the family have no rules. */
export function decideServiceRules(
  service: Service,
  slices: Iterable<EndpointSlice>,
  family: IpFamily,
  node: NodeFacts,
): readonly ServicePortRules[] {
  const clusterIp = clusterIpOf(service, family);
  if (clusterIp === undefined || isIgnored(service)) return [];
  const endpoints = endpointsByPort(slices, family, node.nodeName);
  return (service.spec.ports ?? []).map((port) =>
    portRules(service, port, {
      ...{ clusterIp, family, node },
      endpoints: endpoints.get(portKey(port.name, port.protocol)) ?? [],
    }),
  );
}

interface PortWorld {
  readonly clusterIp: string;
  readonly family: IpFamily;
  readonly node: NodeFacts;
  readonly endpoints: readonly Endpoint[];
}

function portRules(
  service: Service,
  { name = "", protocol = "TCP", port, nodePort = 0 }: ServicePort,
  { clusterIp, family, node, endpoints }: PortWorld,
): ServicePortRules {
  const { metadata, spec } = service;
  const isExternal = isExternallyAccessible(service);
  const internalLocal = spec.internalTrafficPolicy === "Local";
  const externalLocal = isExternal && spec.externalTrafficPolicy === "Local";
  const { cluster, local, hasAny } = chooseEndpoints(endpoints, {
    // Pods reach external addresses as if the policy were Cluster, so those endpoints are needed too.
    usesCluster: !internalLocal || isExternal,
    usesLocal: internalLocal || externalLocal,
    nodeName: node.nodeName,
    zone: node.zone,
  });
  const loadBalancerIps = isExternal ? loadBalancerIpsOf(service, family) : [];
  const policyOf = (isLocal: boolean): { policy: Policy; refuse: Refusal | undefined } => ({
    policy: isLocal ? "local" : "cluster",
    refuse: !hasAny ? "reject" : isLocal && local.length === 0 ? "drop" : undefined,
  });
  const lower = protocol.toLowerCase() as Protocol;
  return {
    id: `${metadata.namespace}/${metadata.name}/${lower}/${name}`,
    protocol: lower,
    port,
    clusterIp,
    externalIps: addressesOf(family, spec.externalIPs ?? []),
    loadBalancerIps,
    nodePort: isExternal && nodePort > 0 ? nodePort : undefined,
    sourceRanges: sourceRangesOf(service, family, loadBalancerIps, node),
    affinitySeconds: affinityOf(service),
    cluster,
    local,
    internal: policyOf(internalLocal),
    external: isExternal ? policyOf(externalLocal) : undefined,
  };
}

function clusterIpOf({ spec }: Service, family: IpFamily): string | undefined {
  if (spec.type === "ExternalName") return undefined;
  const all = spec.clusterIPs ?? (spec.clusterIP === undefined ? [] : [spec.clusterIP]);
  return addressesOf(family, all)[0]; // "None" is no address
}

function isIgnored({ metadata }: Service): boolean {
  return Object.hasOwn(metadata.labels ?? {}, PROXY_NAME_LABEL);
}

function isExternallyAccessible({ spec }: Service): boolean {
  const { type = "ClusterIP", externalIPs = [] } = spec;
  return type === "LoadBalancer" || type === "NodePort" || externalIPs.length > 0;
}

function loadBalancerIpsOf({ spec, status }: Service, family: IpFamily): string[] {
  if (spec.type !== "LoadBalancer") return [];
  const ingress = status?.loadBalancer?.ingress ?? [];
  // With ipMode Proxy the load balancer itself must see the packets.
  const ips = ingress.flatMap(({ ip, ipMode }) => (ip && ipMode !== "Proxy" ? [ip] : []));
  return [...new Set(addressesOf(family, ips))];
}

/**
 * Where a load balancer IP is an address of the node, the node's own packets have it as their source:
 * they may pass if the node itself may.
 */
function sourceRangesOf(
  { spec }: Service,
  family: IpFamily,
  loadBalancerIps: readonly string[],
  { nodeIps }: NodeFacts,
): readonly string[] | undefined {
  const ranges = networksOf(family, spec.loadBalancerSourceRanges ?? []);
  if (ranges.length === 0 || loadBalancerIps.length === 0) return undefined;
  const own = addressesOf(family, nodeIps);
  const nodeMay = ranges.some((range) => own.some((ip) => isInNetwork(ip, range)));
  const bits = family === "IPv4" ? 32 : 128;
  const extra = nodeMay ? loadBalancerIps.map((ip) => `${ip}/${bits}`) : [];
  return [...new Set([...ranges, ...extra])];
}

function affinityOf({ spec }: Service): number | undefined {
  if (spec.sessionAffinity !== "ClientIP") return undefined;
  return spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS_DEFAULT;
}
