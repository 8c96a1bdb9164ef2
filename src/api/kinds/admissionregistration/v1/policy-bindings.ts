/** admissionregistration.k8s.io policy bindings: where a policy applies, and with which parameters. */

import { ageColumn, nameColumn, UNSET } from "#api/columns.ts";
import type {
  MutatingAdmissionPolicyBinding,
  ParamRef,
  ValidatingAdmissionPolicyBinding,
} from "#api/generated/admissionregistration.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import { type Column, defineKind, type KindSpec } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { invalidEach, validateOneOf } from "#api/validation/faults.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  required,
} from "#api/validation/field-error.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { validateLabelSelector } from "#api/validation/labels.ts";
import {
  isDns1123Subdomain,
  isPathSegmentName,
  nameIsDnsSubdomain,
} from "#api/validation/names.ts";
import { validateObjectMeta } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import {
  defaultMatchResources,
  validateMatchResources,
  validateMutatingOperations,
} from "./rules.ts";
import { staticSuffixWarnings } from "./static-suffix.ts";

const META = { namespaced: false, nameRule: nameIsDnsSubdomain };
const ACTIONS = ["Audit", "Deny", "Warn"];

type Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding;

const columns: readonly Column<Binding>[] = [
  nameColumn,
  {
    name: "PolicyName",
    type: "string",
    description: "PolicyName indicates the policy definition which the policy binding binded to",
    cell: ({ spec }) => spec.policyName ?? "",
  },
  {
    name: "ParamRef",
    type: "string",
    description: "ParamRef indicates the param resource which sets the configuration param",
    cell: ({ spec }) => paramText(spec.paramRef),
  },
  ageColumn,
];

export const validatingAdmissionPolicyBindingKind = defineKind<ValidatingAdmissionPolicyBinding>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  names: {
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    categories: ["api-extensions"],
  },
  scope: "Cluster",
  schema: builtInSchema("admissionregistration.v1.ValidatingAdmissionPolicyBinding"),
  nameRule: nameIsDnsSubdomain,
  generation: true,
  defaults: ({ spec }) => defaultMatchResources(spec.matchResources),
  validate: validateValidatingBinding,
  validateUpdate: (binding) => [
    ...validateObjectMeta(binding.metadata, META, METADATA),
    ...validateValidatingBinding(binding),
  ],
  warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
  columns,
});

/** Stored in its beta version, so that the release before can still read it. */
const mutatingSpec: KindSpec<MutatingAdmissionPolicyBinding> = {
  group: "admissionregistration.k8s.io",
  version: "v1beta1",
  names: {
    kind: "MutatingAdmissionPolicyBinding",
    plural: "mutatingadmissionpolicybindings",
    categories: ["api-extensions"],
  },
  scope: "Cluster",
  schema: builtInSchema("admissionregistration.v1beta1.MutatingAdmissionPolicyBinding"),
  nameRule: nameIsDnsSubdomain,
  generation: true,
  defaults: ({ spec }) => defaultMatchResources(spec.matchResources),
  validate: validateMutatingBinding,
  validateUpdate: (binding) => [
    ...validateObjectMeta(binding.metadata, META, METADATA),
    ...validateMutatingBinding(binding),
  ],
  warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
  columns,
};

export const mutatingAdmissionPolicyBindingV1beta1Kind = defineKind(mutatingSpec);
export const mutatingAdmissionPolicyBindingKind = alsoServedAs(
  mutatingSpec,
  "v1",
  "admissionregistration.v1.MutatingAdmissionPolicyBinding",
);
export const mutatingAdmissionPolicyBindingV1alpha1Kind = alsoServedAs(
  mutatingSpec,
  "v1alpha1",
  "admissionregistration.v1alpha1.MutatingAdmissionPolicyBinding",
  {
    deprecation:
      "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+",
    defaults: ({ spec }) => {
      if (spec.paramRef !== undefined) spec.paramRef.parameterNotFoundAction ??= "Deny";
      defaultMatchResources(spec.matchResources);
    },
  },
);

function validateValidatingBinding(binding: ValidatingAdmissionPolicyBinding): FieldError[] {
  return [
    ...validateBinding(binding),
    ...validateActions(binding.spec.validationActions ?? [], Path.of("spec", "validationActions")),
  ];
}

function validateMutatingBinding(binding: MutatingAdmissionPolicyBinding): FieldError[] {
  const { matchResources } = binding.spec;
  return [
    ...validateBinding(binding),
    ...validateMutatingOperations(matchResources, Path.of("spec", "matchResources")),
  ];
}

function validateBinding({ spec }: Binding): FieldError[] {
  const path = Path.of("spec");
  const { policyName = "", paramRef, matchResources } = spec;
  const errors: FieldError[] = [];
  const namePath = path.child("policyName");
  if (policyName === "") errors.push(required(namePath, ""));
  else errors.push(...invalidEach(namePath, policyName, isDns1123Subdomain(policyName)));
  if (paramRef !== undefined) errors.push(...validateParamRef(paramRef, path.child("paramRef")));
  errors.push(...validateMatchResources(matchResources, path.child("matchResources")));
  return errors;
}

function validateParamRef(reference: ParamRef, path: Path): FieldError[] {
  const { name = "", selector, parameterNotFoundAction: action = "" } = reference;
  const errors = [...invalidEach(path.child("name"), name, isPathSegmentName(name))];
  const exclusive = "name and selector are mutually exclusive";
  const both = name !== "" && selector !== undefined;
  if (both) errors.push(forbidden(path.child("name"), exclusive));
  errors.push(...validateLabelSelector(selector, {}, path.child("selector")));
  if (both) errors.push(forbidden(path.child("selector"), exclusive));
  if (name === "" && selector === undefined) {
    errors.push(required(path, "one of name or selector must be specified"));
  }
  const actionPath = path.child("parameterNotFoundAction");
  if (action === "") errors.push(required(actionPath, ""));
  else errors.push(...validateOneOf(actionPath, action, ["Deny", "Allow"]));
  return errors;
}

function validateActions(actions: readonly string[], path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, action] of actions.entries()) {
    errors.push(...validateOneOf(path.index(i), action, ACTIONS));
    if (seen.has(action)) errors.push(duplicate(path.index(i), action));
    seen.add(action);
  }
  if (seen.has("Deny") && seen.has("Warn")) {
    const detail =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    errors.push(invalid(path, actions, detail));
  }
  if (seen.size === 0) errors.push(required(path, "at least one validation action is required"));
  return errors;
}

function paramText(reference: ParamRef | undefined): string {
  const { name = "", namespace = "", selector } = reference ?? {};
  if (name !== "") return namespace === "" ? `*/${name}` : `${namespace}/${name}`;
  return selector === undefined ? UNSET : selectorText(selector);
}

/** A selector as Go prints the struct. */
function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`)
    .join("");
  const expressions = matchExpressions
    .map(
      ({ key, operator, values = [] }) =>
        `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(" ")}],},`,
    )
    .join("");
  return `&LabelSelector{MatchLabels:map[string]string{${labels}},MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`;
}
