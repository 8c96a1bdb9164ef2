/** networking.k8s.io/v1 Ingress: HTTP from outside to Services, by host and path. */

import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import { ageColumn, NONE, nameColumn } from "#api/columns.ts";
import { keepFields } from "#api/draft.ts";
import type {
  HTTPIngressPath,
  Ingress,
  IngressRule,
  IngressSpec,
  IngressStatus,
  IngressTLS,
} from "#api/generated/networking.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach } from "#api/validation/faults.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { ipWarnings, isIp, parseIp } from "#api/validation/ip.ts";
import {
  validateFinalizers,
  validateKubeMeta,
  validateKubeMetaUpdate,
} from "#api/validation/kube-meta.ts";
import {
  isDns1123Subdomain,
  isWildcardDns1123Subdomain,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { validateIngressBackend } from "./ingress-backend.ts";

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";
const PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"];
const PATH_SEQUENCES = ["//", "/./", "/../", "%2f", "%2F"];
const PATH_SUFFIXES = ["/..", "/."];
const HOSTS_SHOWN_MAX = 3;

/** What an update must go on accepting because the stored object has it. */
interface Tolerance {
  readonly secretNames: boolean;
  readonly wildcardRules: boolean;
}

export const ingressKind = defineKind<Ingress>({
  group: "networking.k8s.io",
  version: "v1",
  names: { kind: "Ingress", plural: "ingresses", short: ["ing"] },
  scope: "Namespaced",
  schema: builtInSchema("networking.v1.Ingress"),
  storagePath: "ingress",
  nameRule: nameIsDnsSubdomain,
  generation: true,
  unconditionalUpdate: true,
  prepareCreate: (draft) => {
    draft.status = { loadBalancer: {} };
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: (ingress) => [
    ...validateFinalizers(ingress.metadata),
    ...validateSpec(ingress.spec, { secretNames: false, wildcardRules: false }),
    ...validateClassAnnotation(ingress),
  ],
  validateUpdate: (ingress, old) => [
    ...validateKubeMetaUpdate(ingress, old),
    ...validateKubeMeta(ingress.metadata, { namespaced: true, nameRule: nameIsDnsSubdomain }),
    ...validateSpec(ingress.spec, toleranceOf(old.spec)),
  ],
  warnings: ({ metadata, spec }, old) =>
    old === undefined &&
    metadata.annotations?.[CLASS_ANNOTATION] !== undefined &&
    spec.ingressClassName === undefined
      ? [
          `annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`,
        ]
      : [],
  subresources: {
    status: {
      prepareUpdate: (draft, old) => keepFields(draft, old, "spec"),
      validateUpdate: (ingress, old) => [
        ...validateKubeMetaUpdate(ingress, old),
        ...validateStatus(ingress.status, old.status),
      ],
      warnings: ({ status }) =>
        (status.loadBalancer.ingress ?? []).flatMap(({ ip }, i) =>
          ip === undefined
            ? []
            : ipWarnings(Path.of("status", "loadBalancer", "ingress").index(i), ip),
        ),
    },
  },
  columns: [
    nameColumn,
    {
      name: "Class",
      type: "string",
      description:
        "The name of the IngressClass resource that should be used for additional configuration",
      cell: ({ spec }) => spec.ingressClassName ?? NONE,
    },
    {
      name: "Hosts",
      type: "string",
      description: "Hosts that incoming requests are matched against before the ingress rule",
      cell: ({ spec }) => hostsText(spec.rules ?? []),
    },
    {
      name: "Address",
      type: "string",
      description: "Address is a list containing ingress points for the load-balancer",
      cell: ({ status }) => addressesText(status),
    },
    {
      name: "Ports",
      type: "string",
      description: "Ports of TLS configurations that open",
      cell: ({ spec }) => ((spec.tls ?? []).length > 0 ? "80, 443" : "80"),
    },
    ageColumn,
  ],
});

/** What the stored Ingress has may stay. */
function toleranceOf({ tls = [], rules = [] }: IngressSpec): Tolerance {
  return {
    secretNames: tls.some(({ secretName }) => secretFaults(secretName).length > 0),
    wildcardRules: rules.some(
      (rule) => rule.host?.includes("*") && validatePaths(rule, Path.of("")).length > 0,
    ),
  };
}

function validateSpec(spec: IngressSpec, tolerance: Tolerance): FieldError[] {
  const path = Path.of("spec");
  const errors: FieldError[] = [];
  const { rules = [], defaultBackend, tls = [], ingressClassName } = spec;
  if (rules.length === 0 && defaultBackend === undefined) {
    const detail = "either `defaultBackend` or `rules` must be specified";
    errors.push(invalid(path, isEmptyCollection(spec, "rules") ? [] : null, detail));
  }
  if (defaultBackend !== undefined) {
    errors.push(...validateIngressBackend(defaultBackend, path.child("defaultBackend")));
  }
  for (const [i, rule] of rules.entries()) {
    errors.push(...validateRule(rule, tolerance, path.child("rules").index(i)));
  }
  for (const [i, entry] of tls.entries()) {
    errors.push(...validateTls(entry, tolerance, path.child("tls").index(i)));
  }
  if (ingressClassName !== undefined) {
    const at = path.child("ingressClassName");
    errors.push(...invalidEach(at, ingressClassName, isDns1123Subdomain(ingressClassName)));
  }
  return errors;
}

function validateRule(rule: IngressRule, tolerance: Tolerance, path: Path): FieldError[] {
  const { host = "" } = rule;
  const errors: FieldError[] = [];
  if (host !== "") {
    if (parseIp(host) !== undefined) {
      errors.push(invalid(path.child("host"), host, "must be a DNS name, not an IP address"));
    }
    errors.push(...invalidEach(path.child("host"), host, hostFaults(host)));
  }
  if (!(host.includes("*") && tolerance.wildcardRules)) errors.push(...validatePaths(rule, path));
  return errors;
}

function hostFaults(host: string): string[] {
  return host.includes("*") ? isWildcardDns1123Subdomain(host) : isDns1123Subdomain(host);
}

function validatePaths({ http }: IngressRule, path: Path): FieldError[] {
  if (http === undefined) return [];
  const at = path.child("http", "paths");
  const paths = http.paths ?? [];
  if (paths.length === 0) return [required(at, "")];
  return paths.flatMap((entry, i) => validatePath(entry, at.index(i)));
}

function validatePath(entry: HTTPIngressPath, path: Path): FieldError[] {
  const { pathType, path: text = "", backend } = entry;
  if (pathType === null) return [required(path.child("pathType"), "pathType must be specified")];
  const errors: FieldError[] = [];
  const fault = (detail: string) => errors.push(invalid(path.child("path"), text, detail));
  switch (pathType) {
    case "Exact":
    case "Prefix":
      if (!text.startsWith("/")) fault("must be an absolute path");
      for (const part of PATH_SEQUENCES)
        if (text.includes(part)) fault(`must not contain '${part}'`);
      for (const end of PATH_SUFFIXES) if (text.endsWith(end)) fault(`cannot end with '${end}'`);
      break;
    case "ImplementationSpecific":
      if (text !== "" && !text.startsWith("/")) fault("must be an absolute path");
      break;
    default:
      errors.push(notSupported(path.child("pathType"), pathType, PATH_TYPES));
  }
  errors.push(...validateIngressBackend(backend, path.child("backend")));
  return errors;
}

function validateTls(tls: IngressTLS, tolerance: Tolerance, path: Path): FieldError[] {
  const errors = (tls.hosts ?? []).flatMap((host, i) =>
    invalidEach(path.child("hosts").index(i), host, hostFaults(host)),
  );
  if (!tolerance.secretNames) {
    const at = path.child("secretName");
    errors.push(...invalidEach(at, tls.secretName, secretFaults(tls.secretName)));
  }
  return errors;
}

function secretFaults(name: string | undefined): string[] {
  return name === undefined ? [] : isDns1123Subdomain(name);
}

function validateClassAnnotation({ metadata, spec }: Ingress): FieldError[] {
  const annotation = metadata.annotations?.[CLASS_ANNOTATION];
  const className = spec.ingressClassName;
  if (annotation === undefined || className === undefined || annotation === className) return [];
  const detail = "must match `ingressClassName` when both are specified";
  return [invalid(Path.of("annotations", CLASS_ANNOTATION), annotation, detail)];
}

function validateStatus({ loadBalancer }: IngressStatus, old: IngressStatus): FieldError[] {
  const knownIps = (old.loadBalancer.ingress ?? []).map(({ ip }) => ip);
  const path = Path.of("status", "loadBalancer", "ingress");
  return (loadBalancer.ingress ?? []).flatMap(({ ip, hostname }, i) => {
    const errors: FieldError[] = [];
    if (ip !== undefined && !knownIps.includes(ip)) {
      errors.push(...invalidEach(path.index(i).child("ip"), ip, isIp(ip)));
    }
    if (hostname !== undefined) {
      const at = path.index(i).child("hostname");
      errors.push(...invalidEach(at, hostname, isDns1123Subdomain(hostname)));
      if (parseIp(hostname) !== undefined) {
        errors.push(invalid(at, hostname, "must be a DNS name, not an IP address"));
      }
    }
    return errors;
  });
}

function hostsText(rules: readonly IngressRule[]): string {
  const shown: string[] = [];
  let more = false;
  for (const { host = "" } of rules) {
    if (shown.length === HOSTS_SHOWN_MAX) more = true;
    else if (host !== "") shown.push(host);
  }
  if (shown.length === 0) return "*";
  const text = shown.join(",");
  return more ? `${text} + ${rules.length - HOSTS_SHOWN_MAX} more...` : text;
}

function addressesText({ loadBalancer }: IngressStatus): string {
  const addresses = (loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "");
  return [...new Set(addresses.filter((address) => address !== ""))].sort().join(",");
}
