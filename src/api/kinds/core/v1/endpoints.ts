/** v1 Endpoints: the addresses behind a Service, in one object; EndpointSlices replace it. */

import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import type { EndpointAddress, EndpointPort, Endpoints } from "#api/generated/core.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateEndpointIp } from "#api/validation/endpoint-ip.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { ipWarnings, isIp } from "#api/validation/ip.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPortNumber,
  isQualifiedName,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

export const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const SHOWN_MAX = 3;
const MANAGED_BY = "endpoints.kubernetes.io/managed-by";
const SUBSETS = Path.of("subsets");

export const endpointsKind = defineKind<Endpoints>({
  group: "",
  version: "v1",
  names: { kind: "Endpoints", plural: "endpoints", singular: "endpoints", short: ["ep"] },
  scope: "Namespaced",
  schema: builtInSchema("core.v1.Endpoints"),
  storagePath: "services/endpoints",
  nameRule: nameIsDnsSubdomain,
  deprecation: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  createOnUpdate: true,
  unconditionalUpdate: true,

  defaults(draft) {
    for (const { ports = [] } of draft.subsets ?? []) {
      for (const port of ports) port.protocol ??= "TCP";
    }
  },
  validate: (endpoints) => [
    ...validateFinalizers(endpoints.metadata),
    ...validateSubsets(endpoints),
  ],
  validateUpdate: (next, old) => [
    ...validateKubeMetaUpdate(next, old),
    ...validateKubeMeta(next.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    // What an earlier server let pass may stay.
    ...(semanticEqual(next.subsets, old.subsets) ? [] : validateSubsets(next)),
  ],
  warnings({ metadata, subsets = [] }) {
    if (metadata.labels?.[MANAGED_BY] === "endpoint-controller") return [];
    return subsets.flatMap((subset, i) =>
      (["addresses", "notReadyAddresses"] as const).flatMap((field) =>
        (subset[field] ?? []).flatMap(({ ip }, j) =>
          ipWarnings(SUBSETS.index(i).child(field).index(j).child("ip"), ip),
        ),
      ),
    );
  },

  columns: [
    nameColumn,
    {
      name: "Endpoints",
      type: "string",
      describedBy: "core.v1.Endpoints.subsets",
      cell: formatSubsets,
    },
    ageColumn,
  ],
});

function validateSubsets({ subsets = [] }: Endpoints): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, { addresses = [], notReadyAddresses = [], ports = [] }] of subsets.entries()) {
    const path = SUBSETS.index(i);
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      errors.push(required(path, "must specify `addresses` or `notReadyAddresses`"));
    }
    for (const [field, list] of Object.entries({ addresses, notReadyAddresses })) {
      errors.push(...list.flatMap((item, j) => validateAddress(item, path.child(field).index(j))));
    }
    const named = ports.length > 1;
    errors.push(
      ...ports.flatMap((port, j) => validatePort(port, named, path.child("ports").index(j))),
    );
  }
  return errors;
}

function validateAddress({ ip, hostname, nodeName }: EndpointAddress, path: Path): FieldError[] {
  const errors = isIp(ip).map((fault) => invalid(path.child("ip"), ip, fault));
  if (hostname) {
    for (const fault of isDns1123Label(hostname)) {
      errors.push(invalid(path.child("hostname"), hostname, fault));
    }
  }
  if (nodeName !== undefined) {
    for (const fault of isDns1123Subdomain(nodeName)) {
      errors.push(invalid(path.child("nodeName"), nodeName, fault));
    }
  }
  return [...errors, ...validateEndpointIp(ip, path.child("ip"))];
}

function validatePort(port: EndpointPort, named: boolean, path: Path): FieldError[] {
  const { name = "", protocol = "", appProtocol } = port;
  const errors: FieldError[] = [];
  if (named && name === "") errors.push(required(path.child("name"), ""));
  if (name !== "") {
    for (const fault of isDns1123Label(name)) errors.push(invalid(path.child("name"), name, fault));
  }
  for (const fault of isPortNumber(port.port)) {
    errors.push(invalid(path.child("port"), port.port, fault));
  }
  if (protocol === "") errors.push(required(path.child("protocol"), ""));
  else if (!PROTOCOLS.includes(protocol)) {
    errors.push(notSupported(path.child("protocol"), protocol, PROTOCOLS));
  }
  if (appProtocol !== undefined) {
    for (const fault of isQualifiedName(appProtocol)) {
      errors.push(invalid(path.child("appProtocol"), appProtocol, fault));
    }
  }
  return errors;
}

/** `10.0.0.1:80,10.0.0.2:80 + 4 more...` */
function formatSubsets({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return NONE;
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    if (ports.length === 0) return addresses.map(({ ip }) => ip);
    return ports.flatMap(({ port }) =>
      addresses.map(({ ip }) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)),
    );
  });
  const shown = all.slice(0, SHOWN_MAX).join(",");
  return all.length > SHOWN_MAX ? `${shown} + ${all.length - SHOWN_MAX} more...` : shown;
}
