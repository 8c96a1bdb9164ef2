/**
 * Resources that programs on every node follow, named without the rest of their kinds: defaults, validation
 * and schemas of a kind take megabytes of memory, which a service proxy or a DNS server never uses.
 */
import type { ConfigMap, Namespace, Node, Pod, Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { NetworkPolicy, ServiceCIDR } from "#api/generated/networking.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Typed } from "./client.ts";
import type { ResourceRef } from "./transport.ts";

export const serviceResource = resource<Service>("", "Service", "services", "Namespaced");
export const endpointSliceResource = resource<EndpointSlice>(
  "discovery.k8s.io",
  "EndpointSlice",
  "endpointslices",
  "Namespaced",
);
export const nodeResource = resource<Node>("", "Node", "nodes", "Cluster");
export const serviceCidrResource = resource<ServiceCIDR>(
  "networking.k8s.io",
  "ServiceCIDR",
  "servicecidrs",
  "Cluster",
);
export const podResource = resource<Pod>("", "Pod", "pods", "Namespaced");
export const namespaceResource = resource<Namespace>("", "Namespace", "namespaces", "Cluster");
export const networkPolicyResource = resource<NetworkPolicy>(
  "networking.k8s.io",
  "NetworkPolicy",
  "networkpolicies",
  "Namespaced",
);
export const configMapResource = resource<ConfigMap>("", "ConfigMap", "configmaps", "Namespaced");

function resource<T extends KubeObject>(
  group: string,
  kind: string,
  plural: string,
  scope: ResourceRef["scope"],
): Typed<T> {
  const version = "v1";
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return { group, version, apiVersion, scope, names: { kind, plural } };
}
