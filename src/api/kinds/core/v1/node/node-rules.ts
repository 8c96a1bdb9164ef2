/** What a Node may say of itself, and what may change about it. */
import type {
  ConfigMapNodeConfigSource,
  Node,
  NodeConfigSource,
  NodeStatus,
} from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  internalError,
  invalid,
  required,
} from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isCidr, parseCidr } from "#api/validation/ip.ts";
import { METADATA, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { isConfigMapKey, isDns1123Label, isDns1123Subdomain } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { validateResourceQuantity } from "../resources/resource-lists.ts";
import { validateNodeAnnotations } from "./node-annotations.ts";
import { validateTaints } from "./taint.ts";

const TAINTS = METADATA.child("taints"); // though they stand in spec: clients know this path
const POD_CIDRS = Path.of("spec", "podCIDRs");
const FEATURE_NAME_MAX = 253;

/** What must hold for every new or changed Node. */
export function validateNode(node: Node): FieldError[] {
  const { metadata, spec, status } = node;
  return [
    ...validateNodeAnnotations(metadata.annotations ?? {}, METADATA.child("annotations")),
    ...validateTaints(spec.taints ?? [], TAINTS),
    ...validateResources(status),
    ...validateSwap(status),
    ...validateDeclaredFeatures(status),
    ...validatePodCidrs(spec.podCIDRs ?? []),
  ];
}

/** What must hold for a changed Node, be it through its status or not. */
export function validateNodeChange(next: Node, old: Node): FieldError[] {
  const { metadata, spec, status } = next;
  return [
    ...validateKubeMetaUpdate(next, old),
    ...validateNodeAnnotations(metadata.annotations ?? {}, METADATA.child("annotations")),
    ...validateResources(status),
    ...validateDeclaredFeatures(status),
    ...validateAddresses(status),
    ...validateAssignedOnce(next, old),
    ...(spec.configSource === undefined
      ? []
      : validateConfigSource(spec.configSource, "spec", Path.of("spec", "configSource"))),
    ...validateConfigStatus(status),
    ...validateTaints(spec.taints ?? [], TAINTS),
    ...((spec.externalID ?? "") === (old.spec.externalID ?? "")
      ? []
      : [forbidden(Path.of("spec", "externalID"), "may not be updated")]),
  ];
}

function validateResources(status: NodeStatus): FieldError[] {
  return (["capacity", "allocatable"] as const).flatMap((list) =>
    Object.entries(status[list] ?? {}).flatMap(([name, amount]) =>
      validateResourceQuantity(name, amount, Path.of("status", list, name)),
    ),
  );
}

function validateSwap({ nodeInfo: { swap } }: NodeStatus): FieldError[] {
  if (swap?.capacity === undefined || swap.capacity > 0) return [];
  const path = METADATA.child("nodeSwapStatus", "capacity");
  return [invalid(path, swap.capacity, "must be greater than zero")];
}

function validateDeclaredFeatures({ declaredFeatures = [] }: NodeStatus): FieldError[] {
  const path = Path.of("status", "declaredFeatures");
  return declaredFeatures.flatMap((feature, i) => {
    const fault = featureNameFault(feature);
    const errors = fault === undefined ? [] : [invalid(path.index(i), feature, fault)];
    const next = declaredFeatures[i + 1];
    if (next === undefined) return errors;
    if (feature === next) errors.push(duplicate(path.index(i + 1), next));
    if (feature > next) {
      errors.push(invalid(path.index(i + 1), next, "list must be sorted alphabetically"));
    }
    return errors;
  });
}

function featureNameFault(name: string): string | undefined {
  if (utf8Length(name) > FEATURE_NAME_MAX) {
    return `invalid feature name ${goQuote(name)}: must be no more than ${FEATURE_NAME_MAX} characters`;
  }
  if (/^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/.test(name)) return undefined;
  return `invalid feature name ${goQuote(name)}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`;
}

/** One network per IP family. */
function validatePodCidrs(cidrs: readonly string[]): FieldError[] {
  const errors = cidrs.flatMap((cidr, i) =>
    isCidr(cidr).map((fault) => invalid(POD_CIDRS.index(i), cidr, fault)),
  );
  if (cidrs.length < 2) return errors;
  const broken = cidrs.findIndex((cidr) => parseCidr(cidr) === undefined);
  if (broken >= 0) {
    const detail = `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${broken}]: <nil> (invalid CIDR address: ${cidrs[broken]})`;
    errors.push(internalError(POD_CIDRS, detail));
  }
  const families = new Set(cidrs.map((cidr) => parseCidr(cidr)?.address.bytes.length));
  if (broken >= 0 || families.size < 2 || cidrs.length > 2) {
    const detail = "may specify no more than one CIDR for each IP family";
    errors.push(invalid(POD_CIDRS, cidrs, detail));
  }
  return errors;
}

function validateAddresses({ addresses = [] }: NodeStatus): FieldError[] {
  const seen = new Set<string>();
  return addresses.flatMap((address, i) => {
    const identity = `${address.type}/${address.address}`;
    const known = seen.has(identity);
    seen.add(identity);
    if (!known) return [];
    const shown = internalForm("core.v1.NodeAddress", address);
    return [duplicate(Path.of("status", "addresses").index(i), shown)];
  });
}

/** Networks and the provider's id may be filled in later, once. */
function validateAssignedOnce(next: Node, old: Node): FieldError[] {
  const errors: FieldError[] = [];
  const [now, before] = [next.spec.podCIDRs ?? [], old.spec.podCIDRs ?? []];
  const changes =
    before.length === 0
      ? 0
      : now.length !== before.length
        ? 1
        : before.filter((cidr, i) => cidr !== now[i]).length;
  for (let i = 0; i < changes; i++) {
    const detail = 'node updates may not change podCIDR except from "" to valid';
    errors.push(forbidden(POD_CIDRS, detail));
  }
  if (old.spec.providerID && old.spec.providerID !== next.spec.providerID) {
    const detail = 'node updates may not change providerID except from "" to valid';
    errors.push(forbidden(Path.of("spec", "providerID"), detail));
  }
  return errors;
}

function validateConfigStatus({ config }: NodeStatus): FieldError[] {
  return (["assigned", "active", "lastKnownGood"] as const).flatMap((field) => {
    const source = config?.[field];
    if (source === undefined) return [];
    return validateConfigSource(source, "status", Path.of("status", "config", field));
  });
}

/** A source that was removed from Kubernetes; old objects may still carry one. */
function validateConfigSource(
  source: NodeConfigSource,
  place: "spec" | "status",
  path: Path,
): FieldError[] {
  if (source.configMap === undefined) {
    const shown = internalForm("core.v1.NodeConfigSource", source);
    return [invalid(path, shown, "exactly one reference subfield must be non-nil")];
  }
  return validateConfigMapSource(source.configMap, place, path.child("configMap"));
}

function validateConfigMapSource(
  source: ConfigMapNodeConfigSource,
  place: "spec" | "status",
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["uid", "resourceVersion"] as const) {
    const given = (source[field] ?? "") !== "";
    if (given && place === "spec") {
      errors.push(forbidden(path.child(field), `${field} must not be set in spec`));
    } else if (!given && place === "status") {
      errors.push(required(path.child(field), ""));
    }
  }
  const rules = [
    ["namespace", isDns1123Label],
    ["name", isDns1123Subdomain],
    ["kubeletConfigKey", isConfigMapKey],
  ] as const;
  for (const [field, rule] of rules) {
    const value = source[field];
    if (value === "") errors.push(required(path.child(field), ""));
    else for (const fault of rule(value)) errors.push(invalid(path.child(field), value, fault));
  }
  return errors;
}
