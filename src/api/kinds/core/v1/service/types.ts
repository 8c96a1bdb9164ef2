/** What the type of a Service entails: which values it needs, which are filled in or dropped. */
import { assign, keep } from "#api/draft.ts";
import type { Service, ServiceSpec } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { semanticEqual } from "#api/validation/immutable.ts";

const NONE = "None";

function needsClusterIp({ type }: ServiceSpec): boolean {
  return type !== "ExternalName";
}

/** Without an address of its own: DNS leads straight to the endpoints. */
export function isHeadless({ clusterIPs }: ServiceSpec): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === NONE;
}

function usesNodePorts({ type }: ServiceSpec): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}

/** As `usesNodePorts`, unless allocateLoadBalancerNodePorts is false. */
export function needsNodePorts(spec: ServiceSpec): boolean {
  if (spec.type === "LoadBalancer") return spec.allocateLoadBalancerNodePorts !== false;
  return spec.type === "NodePort";
}

export function needsHealthCheckPort({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === "LoadBalancer" && externalTrafficPolicy === "Local";
}

export function isExternallyAccessible(spec: ServiceSpec): boolean {
  return usesNodePorts(spec) || (spec.type === "ClusterIP" && (spec.externalIPs ?? []).length > 0);
}

export function isLoadBalancer({ type }: ServiceSpec): boolean {
  return type === "LoadBalancer";
}

/**
 * Fills in what was allocated for the old object and is missing in the new one, so that
 * sending the same manifest again changes nothing.
 */
export function keepAllocatedValues({ spec }: Draft<Service>, { spec: old }: Service): void {
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    spec.clusterIP ||= old.clusterIP ?? "";
    if ((spec.clusterIPs ?? []).length === 0) assign(spec, "clusterIPs", keep(old.clusterIPs));
  }
  if (needsNodePorts(old) && needsNodePorts(spec)) keepNodePorts(spec, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(spec)) {
    spec.healthCheckNodePort ||= old.healthCheckNodePort ?? 0;
  }
}

/** Ports are known by their names; a node port that is used for another port is not kept. */
function keepNodePorts(spec: Draft<ServiceSpec>, old: ServiceSpec): void {
  const given = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
  const known = new Map((old.ports ?? []).map(({ name = "", nodePort }) => [name, nodePort]));
  for (const port of spec.ports ?? []) {
    const before = known.get(port.name ?? "");
    if (!port.nodePort && before && !given.has(before)) port.nodePort = before;
  }
}

/**
 * On a change of type, drops what the new type has no use for. Values that the client changed in
 * the same breath stay, and fail in validation.
 */
export function dropUnusedFields({ spec, status }: Draft<Service>, { spec: old }: Service): void {
  const same = (field: keyof ServiceSpec) => semanticEqual(spec[field], old[field]);
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    if (same("clusterIP") && same("clusterIPs")) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (same("ipFamilies")) delete spec.ipFamilies;
    if (same("ipFamilyPolicy")) delete spec.ipFamilyPolicy;
  }
  if (usesNodePorts(old) && !usesNodePorts(spec) && addsNoNodePort(spec, old)) {
    for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheckPort(old) && !needsHealthCheckPort(spec) && same("healthCheckNodePort")) {
    delete spec.healthCheckNodePort;
  }
  if (isLoadBalancer(old) && !isLoadBalancer(spec)) {
    if (same("allocateLoadBalancerNodePorts")) delete spec.allocateLoadBalancerNodePorts;
    if (same("loadBalancerClass")) delete spec.loadBalancerClass;
  }
  if (
    isExternallyAccessible(old) &&
    !isExternallyAccessible(spec) &&
    same("externalTrafficPolicy")
  ) {
    delete spec.externalTrafficPolicy;
  }
  if (!isLoadBalancer(spec)) status.loadBalancer = {};
}

function addsNoNodePort(spec: ServiceSpec, old: ServiceSpec): boolean {
  const before = new Set((old.ports ?? []).map(({ nodePort }) => nodePort));
  return (spec.ports ?? []).every(({ nodePort }) => !nodePort || before.has(nodePort));
}
