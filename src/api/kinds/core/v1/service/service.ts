/**
 * v1 Service. Between defaults and the prepare hooks the server allocates addresses and ports:
 * `keepAllocatedValues` (updates only), `alignClusterIps`, `decideFamilies`, then the allocation.
 */

import { ageColumn, formatLabels, NONE, nameColumn, UNKNOWN } from "#api/columns.ts";
import { RETURNS_OBJECT } from "#api/deletion-rules.ts";
import { keep } from "#api/draft.ts";
import type { Service, ServiceSpec } from "#api/generated/core.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { serviceMeasure } from "#api/quota/service-measure.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { proxyRoute } from "#api/subresource-route.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { cidrWarnings, ipWarnings } from "#api/validation/ip.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsLabel } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateClusterIpChange } from "./cluster-ips.ts";
import { validateLoadBalancerClass, validateLoadBalancerStatus } from "./load-balancer.ts";
import { TOPOLOGY_HINTS, TOPOLOGY_MODE, validateService } from "./rules.ts";
import {
  dropUnusedFields,
  isExternallyAccessible,
  isLoadBalancer,
  needsHealthCheckPort,
} from "./types.ts";

const AFFINITY_SECONDS = 10_800;
const SPEC = Path.of("spec");

export const serviceKind = defineKind<Service>({
  group: "",
  version: "v1",
  names: { kind: "Service", plural: "services", short: ["svc"], categories: ["all"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.Service"),
  quota: serviceMeasure,
  storagePath: "services/specs",
  extraSubresources: [proxyRoute("ServiceProxyOptions")],
  deletion: RETURNS_OBJECT,
  nameRule: nameIsDnsLabel,
  createOnUpdate: true,
  unconditionalUpdate: true,

  defaults,
  prepareCreate(draft) {
    draft.status = { loadBalancer: {} };
  },
  validate: (service) => [
    ...validateFinalizers(service.metadata),
    ...validateService(service, undefined),
  ],
  prepareUpdate(draft, old) {
    draft.status = { ...keep(old.status) };
    dropUnusedFields(draft, old);
  },
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateClusterIpChange(next, old),
    ...validateClassChange(next.spec, old.spec),
    ...validateLoadBalancerClass(next.spec),
    ...validateHealthCheckPortChange(next.spec, old.spec),
    ...validateService(next, old),
  ],
  canonicalize({ spec }) {
    if (spec.type === "ExternalName") delete spec.internalTrafficPolicy; // defaulted by mistake once
  },
  warnings,

  subresources: {
    status: {
      prepareUpdate(draft, old) {
        draft.spec = keep(old.spec);
      },
      validateUpdate: (next, old) => [
        ...validateKubeMetaUpdate(next, old),
        ...validateLoadBalancerStatus(next.status.loadBalancer, old.status.loadBalancer, next.spec),
      ],
      warnings: ({ status: { loadBalancer } }) =>
        (loadBalancer.ingress ?? []).flatMap(({ ip }, i) =>
          ip ? ipWarnings(Path.of("status", "loadBalancer", "ingress").index(i), ip) : [],
        ),
    },
  },

  columns: [
    nameColumn,
    {
      name: "Type",
      type: "string",
      describedBy: "core.v1.ServiceSpec.type",
      cell: ({ spec }) => spec.type ?? "",
    },
    {
      name: "Cluster-IP",
      type: "string",
      describedBy: "core.v1.ServiceSpec.clusterIP",
      cell: ({ spec }) => spec.clusterIPs?.[0] ?? NONE,
    },
    {
      name: "External-IP",
      type: "string",
      describedBy: "core.v1.ServiceSpec.externalIPs",
      cell: externalAddress,
    },
    {
      name: "Port(s)",
      type: "string",
      describedBy: "core.v1.ServiceSpec.ports",
      cell: ({ spec: { ports = [] } }) =>
        ports
          .map(({ port, nodePort, protocol = "" }) =>
            nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
          )
          .join(",") || NONE,
    },
    ageColumn,
    {
      name: "Selector",
      type: "string",
      priority: 1,
      describedBy: "core.v1.ServiceSpec.selector",
      cell: ({ spec }) => formatLabels(spec.selector),
    },
  ],
  selectableFields: ({ spec }) => ({
    "spec.clusterIP": spec.clusterIP ?? "",
    "spec.type": spec.type ?? "",
  }),
});

function defaults({ spec, status }: Draft<Service>): void {
  spec.sessionAffinity ??= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (
    spec.sessionAffinity === "ClientIP" &&
    spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined
  ) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: AFFINITY_SECONDS } };
  }
  spec.type ??= "ClusterIP";
  for (const port of spec.ports ?? []) {
    port.protocol ??= "TCP";
    port.targetPort ||= port.port;
  }
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ??= "Cluster";
  if (["ClusterIP", "NodePort", "LoadBalancer"].includes(spec.type)) {
    spec.internalTrafficPolicy ??= "Cluster";
  }
  if (!isLoadBalancer(spec)) return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of status.loadBalancer.ingress ?? []) if (ingress.ip) ingress.ipMode ??= "VIP";
}

function validateClassChange(next: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (!isLoadBalancer(next) || !isLoadBalancer(old)) return [];
  if (next.loadBalancerClass === old.loadBalancerClass) return [];
  const path = SPEC.child("loadBalancerClass");
  return [invalid(path, next.loadBalancerClass, "may not change once set")];
}

function validateHealthCheckPortChange(next: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (!needsHealthCheckPort(next) || !needsHealthCheckPort(old)) return [];
  if (next.healthCheckNodePort === old.healthCheckNodePort) return [];
  return [forbidden(SPEC.child("healthCheckNodePort"), "field is immutable")];
}

function warnings({ metadata, spec }: Service): string[] {
  const { clusterIP = "", clusterIPs = [], externalIPs = [], type } = spec;
  const found: string[] = [];
  if (metadata.annotations?.[TOPOLOGY_HINTS] !== undefined) {
    found.push(`annotation ${TOPOLOGY_HINTS} is deprecated, please use ${TOPOLOGY_MODE} instead`);
  }
  if (clusterIP !== "" && clusterIP !== "None") {
    found.push(...clusterIPs.flatMap((ip, i) => ipWarnings(SPEC.child("clusterIPs").index(i), ip)));
  }
  const headless = type === "ClusterIP" && clusterIP === "None";
  if (headless) {
    const ignored = {
      loadBalancerIP: spec.loadBalancerIP,
      externalIPs: externalIPs.length > 0,
      SessionAffinity: spec.sessionAffinity !== "None",
    };
    for (const [field, given] of Object.entries(ignored)) {
      if (given) found.push(`spec.${field} is ignored for headless services`);
    }
  }
  found.push(...externalIPs.flatMap((ip, i) => ipWarnings(SPEC.child("externalIPs").index(i), ip)));
  if (externalIPs.length > 0 && !headless && type !== "ExternalName") {
    found.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (spec.loadBalancerIP) {
    found.push(...ipWarnings(SPEC.child("loadBalancerIP"), spec.loadBalancerIP));
  }
  for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries()) {
    found.push(...cidrWarnings(SPEC.child("loadBalancerSourceRanges").index(i), range));
  }
  if (type === "ExternalName" && externalIPs.length > 0) {
    found.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (type !== "ExternalName" && spec.externalName) {
    found.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (spec.trafficDistribution === "PreferClose") {
    found.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return found;
}

function externalAddress({ spec, status }: Service): string {
  const { externalIPs = [] } = spec;
  switch (spec.type) {
    case "ClusterIP":
    case "NodePort":
      return externalIPs.join(",") || NONE;
    case "LoadBalancer": {
      const ingress = status.loadBalancer.ingress ?? [];
      const given = ingress.map(({ ip, hostname }) => ip || hostname || "").filter(Boolean);
      return [...[...new Set(given)].sort(), ...externalIPs].join(",") || "<pending>";
    }
    case "ExternalName":
      return spec.externalName ?? "";
    default:
      return UNKNOWN;
  }
}
