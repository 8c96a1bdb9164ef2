/** Rules about the nodes and the other pods that a pod wants to be near to or far from. */
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  PodAntiAffinity,
  PreferredSchedulingTerm,
} from "#api/generated/core.v1.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { validateLabelName, validateLabelSelector } from "#api/validation/labels.ts";
import { isLabelValue, nameIsDnsLabel, nameIsDnsSubdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import type { PodRules } from "../rules.ts";
import { validateMatchLabelKeys } from "./match-label-keys.ts";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const WEIGHT_FAULT = "must be in the range 1-100";

export function validateAffinity(
  { nodeAffinity, podAffinity, podAntiAffinity }: Affinity,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  if (nodeAffinity !== undefined) {
    const at = path.child("nodeAffinity");
    const { [REQUIRED]: needed, [PREFERRED]: preferred = [] } = nodeAffinity;
    if (needed !== undefined) {
      const allow = rules.allowInvalidLabelValueInNodeAffinity;
      validateNodeSelector(needed, allow, at.child(REQUIRED), errors);
    }
    validatePreferredTerms(preferred, at.child(PREFERRED), errors);
  }
  if (podAffinity !== undefined) {
    validatePodAffinity(podAffinity, rules, path.child("podAffinity"), errors);
  }
  if (podAntiAffinity !== undefined) {
    validatePodAffinity(podAntiAffinity, rules, path.child("podAntiAffinity"), errors);
  }
}

/** Also of volumes, which may be bound to nodes. */
export function validateNodeSelector(
  { nodeSelectorTerms }: NodeSelector,
  allowInvalidLabelValue: boolean,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("nodeSelectorTerms");
  const terms = nodeSelectorTerms ?? [];
  if (terms.length === 0) {
    errors.push(required(at, "must have at least one node selector term"));
  }
  for (const [i, term] of terms.entries()) {
    validateNodeSelectorTerm(term, allowInvalidLabelValue, at.index(i), errors);
  }
}

function validatePreferredTerms(
  terms: readonly PreferredSchedulingTerm[],
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, { weight, preference }] of terms.entries()) {
    const at = path.index(i);
    validateWeight(weight, at, errors);
    // A preference that no node can meet does no harm.
    validateNodeSelectorTerm(preference, true, at.child("preference"), errors);
  }
}

function validateNodeSelectorTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  allowInvalidLabelValue: boolean,
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, requirement] of matchExpressions.entries()) {
    const at = path.child("matchExpressions").index(i);
    validateNodeRequirement(requirement, allowInvalidLabelValue, at, errors);
  }
  for (const [i, requirement] of matchFields.entries()) {
    validateNodeFieldRequirement(requirement, path.child("matchFields").index(i), errors);
  }
}

function validateNodeRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  allowInvalidLabelValue: boolean,
  path: Path,
  errors: FieldError[],
): void {
  const at = path.child("values");
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length > 0) break;
      errors.push(required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case "Exists":
    case "DoesNotExist":
      if (values.length === 0) break;
      errors.push(
        forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
      break;
    case "Gt":
    case "Lt":
      if (values.length === 1) break;
      errors.push(required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
      break;
    default:
      errors.push(invalid(path.child("operator"), operator, "not a valid selector operator"));
  }
  errors.push(...validateLabelName(key, path.child("key")));
  if (allowInvalidLabelValue) return;
  for (const [i, value] of values.entries()) {
    for (const fault of isLabelValue(value)) errors.push(invalid(at.index(i), value, fault));
  }
}

/** A field of the node itself; only its name can be asked for. */
function validateNodeFieldRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  path: Path,
  errors: FieldError[],
): void {
  if (operator !== "In" && operator !== "NotIn") {
    errors.push(invalid(path.child("operator"), operator, "not a valid selector operator"));
  } else if (values.length !== 1) {
    const detail =
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(path.child("values"), detail));
  }
  if (key !== "metadata.name") {
    errors.push(invalid(path.child("key"), key, "not a valid field selector key"));
    return;
  }
  for (const [i, value] of values.entries()) {
    const at = path.child("values").index(i);
    for (const fault of nameIsDnsSubdomain(value, false)) errors.push(invalid(at, value, fault));
  }
}

function validatePodAffinity(
  { [REQUIRED]: needed = [], [PREFERRED]: preferred = [] }: PodAffinity | PodAntiAffinity,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  for (const [i, term] of needed.entries()) {
    validatePodAffinityTerm(term, rules, path.child(REQUIRED).index(i), errors);
  }
  for (const [i, { weight, podAffinityTerm }] of preferred.entries()) {
    const at = path.child(PREFERRED).index(i);
    validateWeight(weight, at, errors);
    validatePodAffinityTerm(podAffinityTerm, rules, at.child("podAffinityTerm"), errors);
  }
}

function validatePodAffinityTerm(
  term: PodAffinityTerm,
  rules: PodRules,
  path: Path,
  errors: FieldError[],
): void {
  const options = { allowInvalidLabelValue: rules.allowInvalidLabelValueInSelector };
  const { labelSelector, namespaceSelector, namespaces = [], topologyKey } = term;
  errors.push(...validateLabelSelector(labelSelector, options, path.child("labelSelector")));
  errors.push(
    ...validateLabelSelector(namespaceSelector, options, path.child("namespaceSelector")),
  );
  for (const name of namespaces) {
    for (const fault of nameIsDnsLabel(name, false)) {
      errors.push(invalid(path.child("namespace"), name, fault));
    }
  }
  errors.push(...validateMatchLabelKeys(term, path));
  if (topologyKey === "") errors.push(required(path.child("topologyKey"), "can not be empty"));
  errors.push(...validateLabelName(topologyKey, path.child("topologyKey")));
}

function validateWeight(weight: number, path: Path, errors: FieldError[]): void {
  if (weight > 0 && weight <= 100) return;
  errors.push(invalid(path.child("weight"), weight, WEIGHT_FAULT));
}
