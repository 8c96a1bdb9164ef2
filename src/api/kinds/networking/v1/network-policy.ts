/** networking.k8s.io/v1 NetworkPolicy: which traffic reaches and leaves pods. */

import { ageColumn, formatLabelSelector, nameColumn } from "#api/columns.ts";
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from "#api/generated/networking.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach, validateOneOf } from "#api/validation/faults.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { type Cidr, cidrWarnings, isCidr, parseCidr } from "#api/validation/ip.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { selectorHasInvalidLabelValue, validateLabelSelector } from "#api/validation/labels.ts";
import { isPortName, isPortNumber, nameIsDnsSubdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const POLICY_TYPES = ["Ingress", "Egress"];
const PROTOCOLS = ["TCP", "UDP", "SCTP"];

interface Tolerance {
  readonly invalidLabelValue: boolean;
  /** Networks of the stored policy: they pass as they are, wherever they stand now. */
  readonly cidrs: readonly string[];
}

export const networkPolicyKind = defineKind<NetworkPolicy>({
  group: "networking.k8s.io",
  version: "v1",
  names: { kind: "NetworkPolicy", plural: "networkpolicies", short: ["netpol"] },
  scope: "Namespaced",
  schema: builtInSchema("networking.v1.NetworkPolicy"),
  nameRule: nameIsDnsSubdomain,
  generation: true,
  unconditionalUpdate: true,
  defaults: setDefaults,
  validate: ({ metadata, spec }) => [
    ...validateFinalizers(metadata),
    ...validateSpec(spec, { invalidLabelValue: false, cidrs: [] }),
  ],
  validateUpdate: (policy, old) => [
    ...validateKubeMetaUpdate(policy, old),
    ...validateSpec(policy.spec, {
      invalidLabelValue: selectorHasInvalidLabelValue(old.spec.podSelector),
      cidrs: ipBlocksOf(old.spec).flatMap(({ block }) => [block.cidr, ...(block.except ?? [])]),
    }),
  ],
  warnings: ({ spec }) =>
    ipBlocksOf(spec).flatMap(({ block, path }) => [
      ...cidrWarnings(path.child("cidr"), block.cidr),
      ...(block.except ?? []).flatMap((cidr, i) =>
        cidrWarnings(path.child("except").index(i), cidr),
      ),
    ]),
  columns: [
    nameColumn,
    {
      name: "Pod-Selector",
      type: "string",
      describedBy: "networking.v1.NetworkPolicySpec.podSelector",
      cell: ({ spec }) => formatLabelSelector(spec.podSelector),
    },
    ageColumn,
  ],
});

function setDefaults({ spec }: Draft<NetworkPolicy>): void {
  for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
    for (const port of rule.ports ?? []) port.protocol ??= "TCP";
  }
  if ((spec.policyTypes ?? []).length > 0) return;
  spec.policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
}

/** Both directions' rules in one shape. */
function rulesOf(spec: NetworkPolicySpec) {
  const path = Path.of("spec");
  return [
    ...(spec.ingress ?? []).map(({ ports = [], from = [] }, i) => {
      const at = path.child("ingress").index(i);
      return { at, ports, peers: from, peersPath: at.child("from") };
    }),
    ...(spec.egress ?? []).map(({ ports = [], to = [] }, i) => {
      const at = path.child("egress").index(i);
      return { at, ports, peers: to, peersPath: at.child("to") };
    }),
  ];
}

function ipBlocksOf(spec: NetworkPolicySpec): { block: IPBlock; path: Path }[] {
  return rulesOf(spec).flatMap(({ peers, peersPath }) =>
    peers.flatMap(({ ipBlock }, i) =>
      ipBlock === undefined ? [] : [{ block: ipBlock, path: peersPath.index(i).child("ipBlock") }],
    ),
  );
}

function validateSpec(spec: NetworkPolicySpec, tolerance: Tolerance): FieldError[] {
  const path = Path.of("spec");
  const errors = validateLabelSelector(
    spec.podSelector,
    { allowInvalidLabelValue: tolerance.invalidLabelValue },
    path.child("podSelector"),
  );
  for (const { at, ports, peers, peersPath } of rulesOf(spec)) {
    errors.push(...ports.flatMap((port, i) => validatePort(port, at.child("ports").index(i))));
    errors.push(...peers.flatMap((peer, i) => validatePeer(peer, tolerance, peersPath.index(i))));
  }
  const types = spec.policyTypes ?? [];
  const typesPath = path.child("policyTypes");
  if (types.length > POLICY_TYPES.length) {
    errors.push(invalid(typesPath, types, "may not specify more than two policyTypes"));
    return errors;
  }
  errors.push(...types.flatMap((type, i) => validateOneOf(typesPath.index(i), type, POLICY_TYPES)));
  return errors;
}

function validatePort({ protocol, port, endPort }: NetworkPolicyPort, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const endPath = path.child("endPort");
  if (protocol !== undefined) {
    errors.push(...validateOneOf(path.child("protocol"), protocol, PROTOCOLS));
  }
  if (port === undefined) {
    if (endPort !== undefined) {
      errors.push(invalid(endPath, endPort, "may not be specified when `port` is not specified"));
    }
  } else if (typeof port === "number") {
    errors.push(...invalidEach(path.child("port"), port, isPortNumber(port)));
    if (endPort !== undefined) {
      if (endPort < port) {
        errors.push(invalid(endPath, port, "must be greater than or equal to `port`"));
      }
      errors.push(...invalidEach(endPath, endPort, isPortNumber(endPort)));
    }
  } else {
    if (endPort !== undefined) {
      errors.push(invalid(endPath, endPort, "may not be specified when `port` is non-numeric"));
    }
    errors.push(...invalidEach(path.child("port"), port, isPortName(port)));
  }
  return errors;
}

function validatePeer(peer: NetworkPolicyPeer, tolerance: Tolerance, path: Path): FieldError[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const options = { allowInvalidLabelValue: tolerance.invalidLabelValue };
  const errors = [
    ...validateLabelSelector(podSelector, options, path.child("podSelector")),
    ...validateLabelSelector(namespaceSelector, options, path.child("namespaceSelector")),
  ];
  if (ipBlock !== undefined) {
    errors.push(...validateIpBlock(ipBlock, tolerance.cidrs, path.child("ipBlock")));
  }
  const hasSelector = podSelector !== undefined || namespaceSelector !== undefined;
  if (ipBlock === undefined && !hasSelector) errors.push(required(path, "must specify a peer"));
  if (ipBlock !== undefined && hasSelector) {
    errors.push(forbidden(path, "may not specify both ipBlock and another peer"));
  }
  return errors;
}

function validateIpBlock(block: IPBlock, known: readonly string[], path: Path): FieldError[] {
  if (block.cidr === "") return [required(path.child("cidr"), "")];
  const errors = [...validateCidr(block.cidr, known, path.child("cidr"))];
  const cidr = parseCidr(block.cidr);
  if (cidr === undefined) return errors;
  for (const [i, text] of (block.except ?? []).entries()) {
    const at = path.child("except").index(i);
    errors.push(...validateCidr(text, known, at));
    const except = parseCidr(text);
    if (except !== undefined && !isStrictSubset(except, cidr)) {
      errors.push(invalid(at, text, "must be a strict subset of `cidr`"));
    }
  }
  return errors;
}

function validateCidr(cidr: string, known: readonly string[], path: Path): readonly FieldError[] {
  return known.includes(cidr) ? [] : invalidEach(path, cidr, isCidr(cidr));
}

function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  if (inner.address.bytes.length !== outer.address.bytes.length) return false;
  if (inner.prefixBits <= outer.prefixBits) return false;
  return inner.address.bytes.every((byte, i) => {
    const bits = Math.min(8, Math.max(0, outer.prefixBits - 8 * i));
    const mask = (0xff << (8 - bits)) & 0xff;
    return (byte & mask) === (outer.address.bytes[i]! & mask);
  });
}
