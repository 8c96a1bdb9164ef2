/** discovery.k8s.io/v1 EndpointSlice: a part of the addresses behind a Service. */

import { ageColumn, nameColumn, UNSET } from "#api/columns.ts";
import type {
  Endpoint,
  EndpointHints,
  EndpointPort,
  EndpointSlice,
} from "#api/generated/discovery.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { PROTOCOLS } from "#api/kinds/core/v1/endpoints.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateFullyQualifiedDomainName } from "#api/validation/domain-names.ts";
import { validateEndpointIp } from "#api/validation/endpoint-ip.ts";
import {
  duplicate,
  type FieldError,
  internalError,
  invalid,
  notSupported,
  required,
  tooMany,
} from "#api/validation/field-error.ts";
import { semanticEqual, validateImmutableField } from "#api/validation/immutable.ts";
import { ipWarnings, isCanonicalIp, isIp, isIpv6 } from "#api/validation/ip.ts";
import { validateFinalizers, validateKubeMeta } from "#api/validation/kube-meta.ts";
import { validateLabels } from "#api/validation/labels.ts";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const ADDRESS_TYPES = ["FQDN", "IPv4", "IPv6"];
const TOPOLOGY_LABELS_MAX = 16;
const ADDRESSES_MAX = 100;
const PORTS_MAX = 20_000;
const ENDPOINTS_MAX = 1000;
const HINTS_MAX = 8;
const SHOWN_MAX = 3;
const HOSTNAME_LABEL = "kubernetes.io/hostname";
const ZONE_LABEL = "topology.kubernetes.io/zone";
const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
const OWN_CONTROLLERS = [
  "endpointslice-controller.k8s.io",
  "endpointslicemirroring-controller.k8s.io",
];

export const endpointSliceKind = defineKind<EndpointSlice>({
  group: "discovery.k8s.io",
  version: "v1",
  names: { kind: "EndpointSlice", plural: "endpointslices" },
  scope: "Namespaced",
  schema: builtInSchema("discovery.v1.EndpointSlice"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,

  defaults(draft) {
    for (const port of draft.ports ?? []) {
      port.name ??= "";
      port.protocol ??= "TCP";
    }
  },
  prepareCreate(draft) {
    draft.metadata.generation = 1;
    dropTopology(draft, undefined);
  },
  validate: (slice) => [
    ...validateFinalizers(slice.metadata),
    ...validateSlice(slice),
    ...validateEndpoints(slice),
  ],
  prepareUpdate(draft, old) {
    const generation = old.metadata.generation ?? 0;
    draft.metadata.generation = hasChanged(draft, old) ? generation + 1 : generation;
    dropTopology(draft, old);
  },
  validateUpdate: (next, old) => [
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateSlice(next),
    // What an earlier server let pass may stay.
    ...(semanticEqual(next.endpoints, old.endpoints) ? [] : validateEndpoints(next)),
    ...validateImmutableField(next.addressType, old.addressType, Path.of("addressType")),
  ],
  warnings: (slice, old) => [
    ...(old === undefined && slice.addressType === "FQDN"
      ? ["spec.addressType: FQDN endpoints are deprecated"]
      : []),
    ...addressWarnings(slice),
  ],

  columns: [
    nameColumn,
    {
      name: "AddressType",
      type: "string",
      describedBy: "discovery.v1.EndpointSlice.addressType",
      cell: ({ addressType }) => addressType,
    },
    {
      name: "Ports",
      type: "string",
      describedBy: "discovery.v1.EndpointSlice.ports",
      cell: ({ ports }) =>
        firstOf((ports ?? []).map(({ name, port }) => String(port ?? name ?? "*"))),
    },
    {
      name: "Endpoints",
      type: "string",
      describedBy: "discovery.v1.EndpointSlice.endpoints",
      cell: ({ endpoints }) =>
        firstOf((endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
    },
    ageColumn,
  ],
});

/** Anything but metadata, and labels. */
function hasChanged(draft: Draft<EndpointSlice>, old: EndpointSlice): boolean {
  const withoutMeta = ({ metadata: _, ...rest }: EndpointSlice) => rest;
  return (
    !semanticEqual(withoutMeta(draft), withoutMeta(old)) ||
    !semanticEqual(draft.metadata.labels, old.metadata.labels)
  );
}

/**
 * deprecatedTopology is read only: a write through this version drops it, after saving the node's
 * name that a stored endpoint had nowhere else.
 */
function dropTopology(draft: Draft<EndpointSlice>, old: EndpointSlice | undefined): void {
  if (old !== undefined && semanticEqual(draft.endpoints, old.endpoints)) return;
  const known = new Set(
    (old?.endpoints ?? []).map(({ deprecatedTopology }) => deprecatedTopology?.[HOSTNAME_LABEL]),
  );
  for (const endpoint of draft.endpoints ?? []) {
    const node = endpoint.deprecatedTopology?.[HOSTNAME_LABEL];
    if (node && known.has(node) && isDns1123Subdomain(node).length === 0) {
      endpoint.nodeName ??= node;
    }
    delete endpoint.deprecatedTopology;
  }
}

function validateSlice({ addressType, ports }: EndpointSlice): FieldError[] {
  const errors: FieldError[] = [];
  const path = Path.of("addressType");
  if (addressType === "") errors.push(required(path, ""));
  else if (!ADDRESS_TYPES.includes(addressType)) {
    errors.push(notSupported(path, addressType, ADDRESS_TYPES));
  }
  return [...errors, ...validatePorts(ports ?? [], Path.of("ports"))];
}

function validatePorts(ports: readonly EndpointPort[], path: Path): FieldError[] {
  if (ports.length > PORTS_MAX) return [tooMany(path, ports.length, PORTS_MAX)];
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, { name = "", protocol, appProtocol }] of ports.entries()) {
    const at = path.index(i);
    if (name !== "") {
      for (const fault of isDns1123Label(name)) errors.push(invalid(at.child("name"), name, fault));
    }
    if (names.has(name)) errors.push(duplicate(at.child("name"), name));
    names.add(name);
    if (protocol === undefined) errors.push(required(at.child("protocol"), ""));
    else if (!PROTOCOLS.includes(protocol)) {
      errors.push(notSupported(at.child("protocol"), protocol, PROTOCOLS));
    }
    if (appProtocol === undefined) continue;
    for (const fault of isQualifiedName(appProtocol)) {
      errors.push(invalid(at.child("appProtocol"), appProtocol, fault));
    }
  }
  return errors;
}

function validateEndpoints({ endpoints, addressType }: EndpointSlice): FieldError[] {
  const path = Path.of("endpoints");
  const list = endpoints ?? [];
  if (list.length > ENDPOINTS_MAX) return [tooMany(path, list.length, ENDPOINTS_MAX)];
  return list.flatMap((endpoint, i) => validateEndpoint(endpoint, addressType, path.index(i)));
}

function validateEndpoint(endpoint: Endpoint, addressType: string, path: Path): FieldError[] {
  const { nodeName, hostname, hints, deprecatedTopology = {} } = endpoint;
  const addresses = endpoint.addresses ?? [];
  const at = path.child("addresses");
  const errors: FieldError[] = [];
  if (addresses.length === 0) errors.push(required(at, "must contain at least 1 address"));
  if (addresses.length > ADDRESSES_MAX) errors.push(tooMany(at, addresses.length, ADDRESSES_MAX));
  for (const [i, address] of addresses.entries()) {
    errors.push(...validateAddress(address, addressType, at, at.index(i)));
  }
  if (nodeName !== undefined) {
    for (const fault of isDns1123Subdomain(nodeName)) {
      errors.push(invalid(path.child("nodeName"), nodeName, fault));
    }
  }
  const topology = path.child("deprecatedTopology");
  const labelCount = Object.keys(deprecatedTopology).length;
  if (labelCount > TOPOLOGY_LABELS_MAX) {
    errors.push(tooMany(topology, labelCount, TOPOLOGY_LABELS_MAX));
  }
  errors.push(...validateLabels(deprecatedTopology, topology));
  if (Object.hasOwn(deprecatedTopology, ZONE_LABEL)) {
    const detail = "reserved key was not removed in conversion";
    errors.push(internalError(topology.key(ZONE_LABEL), detail));
  }
  if (hostname !== undefined) {
    for (const fault of isDns1123Label(hostname)) {
      errors.push(invalid(path.child("hostname"), hostname, fault));
    }
  }
  if (hints !== undefined) errors.push(...validateHints(hints, path.child("hints")));
  return errors;
}

function validateAddress(text: string, type: string, list: Path, path: Path): FieldError[] {
  if (type === "FQDN") return validateFullyQualifiedDomainName(text, path);
  if (type !== "IPv4" && type !== "IPv6") return [];
  const faults = type === "IPv4" ? isIp(text) : isCanonicalIp(text);
  if (faults.length > 0) return faults.map((fault) => invalid(path, text, fault));
  const rightFamily = isIpv6(text) === (type === "IPv6");
  const wrong = rightFamily ? [] : [invalid(list, text, `must be an ${type} address`)];
  return [...wrong, ...validateEndpointIp(text, path)];
}

function validateHints({ forZones = [], forNodes = [] }: EndpointHints, path: Path): FieldError[] {
  const rules = [
    ["forZones", forZones, isLabelValue],
    ["forNodes", forNodes, isDns1123Subdomain],
  ] as const;
  const errors: FieldError[] = [];
  for (const [field, hints, rule] of rules) {
    if (hints.length > HINTS_MAX) {
      return [...errors, tooMany(path.child(field), hints.length, HINTS_MAX)];
    }
    const names = new Set<string>();
    for (const [i, { name }] of hints.entries()) {
      const at = path.child(field).index(i).child("name");
      if (names.has(name)) errors.push(duplicate(at, name));
      names.add(name);
      for (const fault of rule(name)) errors.push(invalid(at, name, fault));
    }
  }
  return errors;
}

function addressWarnings({ metadata, endpoints }: EndpointSlice): string[] {
  if (OWN_CONTROLLERS.includes(metadata.labels?.[MANAGED_BY] ?? "")) return [];
  return (endpoints ?? []).flatMap(({ addresses }, i) =>
    (addresses ?? []).flatMap((address, j) =>
      ipWarnings(Path.of("endpoints").index(i).child("addresses").index(j), address),
    ),
  );
}

/** The first few, and how many more there are. */
function firstOf(texts: readonly string[]): string {
  const shown = texts.slice(0, SHOWN_MAX).join(",");
  if (texts.length > SHOWN_MAX) return `${shown} + ${texts.length - SHOWN_MAX} more...`;
  return shown || UNSET;
}
