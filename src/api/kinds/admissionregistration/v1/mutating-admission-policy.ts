/** admissionregistration.k8s.io MutatingAdmissionPolicy: changes requests by expressions. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import type { MutatingAdmissionPolicy, Mutation } from "#api/generated/admissionregistration.v1.ts";
import { defineKind, type KindSpec, type RuleContext } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateOneOf } from "#api/validation/faults.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import { METADATA } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateObjectMeta } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { alsoServedAs } from "#api/versions.ts";
import type { Steps } from "#lib/async/steps.ts";
import {
  type PolicyExpressions,
  paramKindColumn,
  policyExpressions,
  validateConditionsAndVariables,
  validateExpression,
  validatePolicyHead,
} from "./policy-parts.ts";
import { defaultMatchResources, validateMutatingOperations } from "./rules.ts";
import { staticSuffixWarnings } from "./static-suffix.ts";
import { REINVOCATION_POLICIES } from "./webhook-configurations.ts";

/** A mutation of each type has its expression in the field of the same name. */
const META = { namespaced: false, nameRule: nameIsDnsSubdomain };
const PATCHES = [
  { type: "ApplyConfiguration", field: "applyConfiguration" },
  { type: "JSONPatch", field: "jsonPatch" },
] as const;

/** Stored in its beta version, so that the release before can still read it. */
const spec: KindSpec<MutatingAdmissionPolicy> = {
  group: "admissionregistration.k8s.io",
  version: "v1beta1",
  names: {
    kind: "MutatingAdmissionPolicy",
    plural: "mutatingadmissionpolicies",
    categories: ["api-extensions"],
  },
  scope: "Cluster",
  schema: builtInSchema("admissionregistration.v1beta1.MutatingAdmissionPolicy"),
  nameRule: nameIsDnsSubdomain,
  generation: true,
  defaults: ({ spec }) => {
    spec.failurePolicy ??= "Fail";
    defaultMatchResources(spec.matchConstraints);
  },
  validate: (policy, context) => validatePolicy(policy, undefined, context),
  *validateUpdate(policy, old, context) {
    const errors = validateObjectMeta(policy.metadata, META, METADATA);
    return [...errors, ...(yield* validatePolicy(policy, old, context))];
  },
  warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
  columns: [
    nameColumn,
    {
      name: "Mutations",
      type: "integer",
      description: "Mutation indicates the number of mutations rules defined in this configuration",
      cell: ({ spec }) => (spec.mutations ?? []).length,
    },
    paramKindColumn,
    ageColumn,
  ],
};

export const mutatingAdmissionPolicyV1beta1Kind = defineKind(spec);
export const mutatingAdmissionPolicyKind = alsoServedAs(
  spec,
  "v1",
  "admissionregistration.v1.MutatingAdmissionPolicy",
);
export const mutatingAdmissionPolicyV1alpha1Kind = alsoServedAs(
  spec,
  "v1alpha1",
  "admissionregistration.v1alpha1.MutatingAdmissionPolicy",
  {
    deprecation:
      "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+",
  },
);

/** In steps: each expression is compiled. */
function* validatePolicy(
  { spec }: MutatingAdmissionPolicy,
  old: MutatingAdmissionPolicy | undefined,
  context: RuleContext,
): Steps<FieldError[]> {
  const path = Path.of("spec");
  const expressions = policyExpressions(spec, context.expressions);
  const stored = new Set(
    (old?.spec.mutations ?? []).map(({ applyConfiguration: apply }) => apply?.expression ?? ""),
  );
  const errors = [
    ...validatePolicyHead(spec, path),
    ...validateMutatingOperations(spec.matchConstraints, path.child("matchConstraints")),
    ...(yield* validateConditionsAndVariables(spec, old?.spec, expressions, path)),
  ];
  const { mutations = [], reinvocationPolicy = "" } = spec;
  if (mutations.length === 0) {
    errors.push(required(path.child("mutations"), "mutations must contain at least one item"));
  }
  for (const [i, mutation] of mutations.entries()) {
    const at = path.child("mutations").index(i);
    errors.push(...validateMutation(mutation, stored, expressions, at));
    yield;
  }
  const policyPath = path.child("reinvocationPolicy");
  if (reinvocationPolicy === "") errors.push(required(policyPath, ""));
  else errors.push(...validateOneOf(policyPath, reinvocationPolicy, REINVOCATION_POLICIES));
  return errors;
}

function validateMutation(
  mutation: Mutation,
  stored: ReadonlySet<string>,
  expressions: PolicyExpressions,
  path: Path,
): FieldError[] {
  const { patchType } = mutation;
  if (patchType === "") return [required(path.child("patchType"), "")];
  const types = PATCHES.map(({ type }) => type);
  const own = PATCHES.find(({ type }) => type === patchType);
  if (own === undefined) return [notSupported(path.child("patchType"), patchType, types)];

  const errors: FieldError[] = [];
  const patch = mutation[own.field];
  const at = path.child(own.field);
  if (patch === undefined) {
    errors.push(required(at, `must be specified when patchType is ${patchType}`));
  } else {
    const expression = (patch.expression ?? "").trim();
    const use = { role: own.field, stored: stored.has(patch.expression ?? "") };
    if (expression === "") errors.push(required(at.child("expression"), ""));
    else errors.push(...validateExpression(expression, use, expressions, at.child("expression")));
  }
  for (const { field } of PATCHES) {
    if (field === own.field || mutation[field] === undefined) continue;
    const detail = `must not be specified when patchType is ${patchType}`;
    errors.push(invalid(path.child(field), `{${field}}`, detail));
  }
  return errors;
}
