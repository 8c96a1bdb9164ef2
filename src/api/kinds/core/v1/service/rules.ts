/** What must hold for a Service beyond its cluster addresses. */
import type { Service, ServicePort, ServiceSpec } from "#api/generated/core.v1.ts";
import { validateEndpointIp } from "#api/validation/endpoint-ip.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  required,
} from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isIp } from "#api/validation/ip.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { validateLabels } from "#api/validation/labels.ts";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPortName,
  isPortNumber,
  isQualifiedName,
} from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { PROTOCOLS } from "../endpoints.ts";
import { validateClusterIps } from "./cluster-ips.ts";
import {
  oneOf,
  validateLoadBalancerClass,
  validateNodePortAllocation,
  validateSourceRanges,
} from "./load-balancer.ts";
import { isExternallyAccessible, isHeadless, needsHealthCheckPort } from "./types.ts";

export const TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints";
export const TOPOLOGY_MODE = "service.kubernetes.io/topology-mode";

const TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const AFFINITIES = ["ClientIP", "None"];
const TRAFFIC_POLICIES = ["Cluster", "Local"];
const DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const AFFINITY_SECONDS_MAX = 86_400;
const SPEC = Path.of("spec");
const PORTS = SPEC.child("ports");

export function validateService(service: Service, old: Service | undefined): FieldError[] {
  const { spec } = service;
  return [
    ...validateTopologyAnnotations(service),
    ...validateByType(spec),
    ...validatePorts(spec),
    ...validateLabels(spec.selector, SPEC.child("selector")),
    ...validateAffinity(spec),
    ...validateClusterIps(service, old),
    ...validateExternalIps(spec, old?.spec),
    ...validateType(spec),
    ...validateNodePorts(spec),
    ...validateDistinctPorts(spec),
    ...validateSourceRanges(service, old),
    ...validateNodePortAllocation(spec),
    ...validateLoadBalancerClass(spec),
    ...validateExternalTraffic(spec),
    ...validateInternalTraffic(spec),
    ...oneOf(spec.trafficDistribution, DISTRIBUTIONS, SPEC.child("trafficDistribution")),
  ];
}

function validateTopologyAnnotations({ metadata: { annotations = {} } }: Service): FieldError[] {
  const [hints, mode] = [annotations[TOPOLOGY_HINTS], annotations[TOPOLOGY_MODE]];
  if (hints === undefined || mode === undefined || hints === mode) return [];
  const detail = `must match annotations[${TOPOLOGY_HINTS}] when both are specified`;
  return [invalid(METADATA.child("annotations").key(TOPOLOGY_MODE), mode, detail)];
}

function validateByType(spec: ServiceSpec): FieldError[] {
  const { type = "", ports = [], clusterIPs = [], ipFamilies = [], externalName = "" } = spec;
  const errors: FieldError[] = [];
  const headless = isHeadless(spec);
  if (ports.length === 0 && !headless && type !== "ExternalName") {
    errors.push(required(PORTS, ""));
  }
  if (headless && (type === "LoadBalancer" || type === "NodePort")) {
    const path = SPEC.child("clusterIPs").index(0);
    errors.push(invalid(path, clusterIPs[0], `may not be set to 'None' for ${type} services`));
  }
  if (type !== "ExternalName") return errors;
  const unwanted = {
    clusterIPs: clusterIPs.length > 0,
    ipFamilies: ipFamilies.length > 0,
    ipFamilyPolicy: spec.ipFamilyPolicy !== undefined,
  };
  for (const [field, given] of Object.entries(unwanted)) {
    if (given)
      errors.push(forbidden(SPEC.child(field), "may not be set for ExternalName services"));
  }
  const path = SPEC.child("externalName");
  const name = externalName.endsWith(".") ? externalName.slice(0, -1) : externalName;
  if (name === "") errors.push(required(path, ""));
  else for (const fault of isDns1123Subdomain(name)) errors.push(invalid(path, name, fault));
  return errors;
}

function validatePorts({ ports = [] }: ServiceSpec): FieldError[] {
  const names = new Set<string>();
  return ports.flatMap((port, i) => {
    const path = PORTS.index(i);
    const { name = "" } = port;
    const errors: FieldError[] = [];
    if (name === "") {
      if (ports.length > 1) errors.push(required(path.child("name"), ""));
    } else {
      errors.push(...isDns1123Label(name).map((fault) => invalid(path.child("name"), name, fault)));
      if (names.has(name)) errors.push(duplicate(path.child("name"), name));
      names.add(name);
    }
    return [...errors, ...validatePort(port, path)];
  });
}

function validatePort(service: ServicePort, path: Path): FieldError[] {
  const { port, protocol = "", targetPort = 0, appProtocol } = service;
  const errors = isPortNumber(port).map((fault) => invalid(path.child("port"), port, fault));
  if (protocol === "") errors.push(required(path.child("protocol"), ""));
  else errors.push(...oneOf(protocol, PROTOCOLS, path.child("protocol")));
  const targetFaults =
    typeof targetPort === "number" ? isPortNumber(targetPort) : isPortName(targetPort);
  for (const fault of targetFaults) {
    errors.push(invalid(path.child("targetPort"), targetPort, fault));
  }
  if (appProtocol === undefined) return errors;
  for (const fault of isQualifiedName(appProtocol)) {
    errors.push(invalid(path.child("appProtocol"), appProtocol, fault));
  }
  return errors;
}

function validateAffinity({ sessionAffinity = "", sessionAffinityConfig }: ServiceSpec) {
  const path = SPEC.child("sessionAffinity");
  const config = SPEC.child("sessionAffinityConfig");
  if (sessionAffinity === "") return [required(path, "")];
  const errors = oneOf(sessionAffinity, AFFINITIES, path);
  if (sessionAffinity === "None" && sessionAffinityConfig !== undefined) {
    errors.push(forbidden(config, "must not be set when session affinity is None"));
  }
  if (sessionAffinity !== "ClientIP") return errors;
  const detail = "when session affinity type is ClientIP";
  const clientIp = sessionAffinityConfig?.clientIP;
  const seconds = clientIp?.timeoutSeconds;
  const at = config.child("clientIP", "timeoutSeconds");
  if (sessionAffinityConfig === undefined) errors.push(required(config, detail));
  else if (clientIp === undefined) errors.push(required(config.child("clientIP"), detail));
  else if (seconds === undefined) errors.push(required(at, detail));
  else if (seconds <= 0 || seconds > AFFINITY_SECONDS_MAX) {
    const range = `must be greater than 0 and less than ${AFFINITY_SECONDS_MAX}`;
    errors.push(invalid(at, seconds, range));
  }
  return errors;
}

/** What an earlier server let pass may stay, as far as its form goes. */
function validateExternalIps(spec: ServiceSpec, old: ServiceSpec | undefined): FieldError[] {
  return (spec.externalIPs ?? []).flatMap((ip, i) => {
    const path = SPEC.child("externalIPs").index(i);
    const faults = old?.externalIPs?.includes(ip) ? [] : isIp(ip);
    if (faults.length > 0) return faults.map((fault) => invalid(path, ip, fault));
    return validateEndpointIp(ip, path);
  });
}

function validateType({ type = "" }: ServiceSpec): FieldError[] {
  return type === "" ? [required(SPEC.child("type"), "")] : oneOf(type, TYPES, SPEC.child("type"));
}

function validateNodePorts({ type, ports = [] }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  const at = (i: number) => PORTS.index(i).child("nodePort");
  if (type === "ClusterIP") {
    for (const [i, { nodePort }] of ports.entries()) {
      if (nodePort) errors.push(forbidden(at(i), "may not be used when `type` is 'ClusterIP'"));
    }
  }
  const seen = new Set<string>();
  for (const [i, { nodePort, protocol }] of ports.entries()) {
    if (!nodePort) continue;
    const identity = `${protocol}/${nodePort}`;
    if (seen.has(identity)) errors.push(duplicate(at(i), nodePort));
    seen.add(identity);
  }
  return errors;
}

function validateDistinctPorts({ ports = [] }: ServiceSpec): FieldError[] {
  const seen = new Set<string>();
  return ports.flatMap(({ port, protocol }, i) => {
    const identity = `${protocol}/${port}`;
    const known = seen.has(identity);
    seen.add(identity);
    if (!known) return [];
    return [duplicate(PORTS.index(i), internalForm("core.v1.ServicePort", { port, protocol }))];
  });
}

function validateExternalTraffic(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy: policy = "", healthCheckNodePort: port = 0 } = spec;
  const errors: FieldError[] = [];
  const at = SPEC.child("externalTrafficPolicy");
  if (!isExternallyAccessible(spec)) {
    if (policy !== "") {
      errors.push(invalid(at, policy, "may only be set for externally-accessible services"));
    }
  } else if (policy === "") errors.push(required(at, ""));
  else errors.push(...oneOf(policy, TRAFFIC_POLICIES, at));

  const portPath = SPEC.child("healthCheckNodePort");
  if (!needsHealthCheckPort(spec)) {
    if (port === 0) return errors;
    const detail =
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    return [...errors, invalid(portPath, port, detail)];
  }
  if (port === 0) return [...errors, required(portPath, "")];
  return [...errors, ...isPortNumber(port).map((fault) => invalid(portPath, port, fault))];
}

function validateInternalTraffic({ type = "", internalTrafficPolicy }: ServiceSpec): FieldError[] {
  const path = SPEC.child("internalTrafficPolicy");
  if (internalTrafficPolicy !== undefined) {
    return oneOf(internalTrafficPolicy, TRAFFIC_POLICIES, path);
  }
  return ["ClusterIP", "NodePort", "LoadBalancer"].includes(type) ? [required(path, "")] : [];
}
