/** policy/v1 PodDisruptionBudget: how many pods of a set evictions must leave. */

import { ageColumn, nameColumn } from "#api/columns.ts";
import { keepFields } from "#api/draft.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from "#api/generated/policy.v1.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import { type FieldError, invalid, notSupported } from "#api/validation/field-error.ts";
import { validateAtMost100Percent, validateIntOrPercent } from "#api/validation/int-or-percent.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { selectorHasInvalidLabelValue, validateLabelSelector } from "#api/validation/labels.ts";
import { pathSegmentName } from "#api/validation/names.ts";
import { validateNonNegative } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";

const EVICTION_POLICIES = ["AlwaysAllow", "IfHealthyBudget"];

/** Marks selectors that the old v1beta1 wrote for "all" and "none"; never mixed with others. */
const V1BETA1_LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

export const podDisruptionBudgetKind = defineKind<PodDisruptionBudget>({
  group: "policy",
  version: "v1",
  names: { kind: "PodDisruptionBudget", plural: "poddisruptionbudgets", short: ["pdb"] },
  scope: "Namespaced",
  schema: builtInSchema("policy.v1.PodDisruptionBudget"),
  nameRule: pathSegmentName,
  generation: true,
  defaults: ({ spec }) => stripV1beta1Label(spec.selector),
  prepareCreate: (draft) => {
    draft.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ spec }) => validateSpec(spec, false),
  validateUpdate: ({ spec }, old) =>
    validateSpec(spec, selectorHasInvalidLabelValue(old.spec.selector)),
  subresources: {
    status: {
      prepareUpdate: (draft, old) => keepFields(draft, old, "spec"),
      validateUpdate: validateStatus,
    },
  },
  columns: [
    nameColumn,
    {
      name: "Min Available",
      type: "string",
      description: "The minimum number of pods that must be available.",
      cell: ({ spec }) => String(spec.minAvailable ?? "N/A"),
    },
    {
      name: "Max Unavailable",
      type: "string",
      description: "The maximum number of pods that may be unavailable.",
      cell: ({ spec }) => String(spec.maxUnavailable ?? "N/A"),
    },
    {
      name: "Allowed Disruptions",
      type: "integer",
      description: "Calculated number of pods that may be disrupted at this time.",
      cell: ({ status }) => status.disruptionsAllowed,
    },
    ageColumn,
  ],
});

function stripV1beta1Label(selector: Draft<LabelSelector> | undefined): void {
  const expressions = selector?.matchExpressions ?? [];
  const isOnlyMarker =
    Object.keys(selector?.matchLabels ?? {}).length === 0 &&
    expressions.length === 1 &&
    expressions[0]!.key === V1BETA1_LABEL &&
    expressions[0]!.operator === "Exists";
  if (selector === undefined || isOnlyMarker || expressions.length === 0) return;
  selector.matchExpressions = expressions.filter(({ key }) => key !== V1BETA1_LABEL);
}

function validateSpec(spec: PodDisruptionBudgetSpec, allowInvalidLabelValue: boolean) {
  const path = Path.of("spec");
  const errors: FieldError[] = [];
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
    const value = internalForm("policy.v1.PodDisruptionBudgetSpec", spec);
    errors.push(invalid(path, value, "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const field of ["minAvailable", "maxUnavailable"] as const) {
    const value = spec[field];
    if (value === undefined) continue;
    errors.push(...validateIntOrPercent(value, path.child(field)));
    errors.push(...validateAtMost100Percent(value, path.child(field)));
  }
  const selectorPath = path.child("selector");
  errors.push(...validateLabelSelector(spec.selector, { allowInvalidLabelValue }, selectorPath));
  const policy = spec.unhealthyPodEvictionPolicy;
  if (policy !== undefined && !EVICTION_POLICIES.includes(policy)) {
    errors.push(notSupported(path.child("unhealthyPodEvictionPolicy"), policy, EVICTION_POLICIES));
  }
  return errors;
}

function validateStatus({ status }: PodDisruptionBudget): FieldError[] {
  const path = Path.of("status");
  const counts = [
    "disruptionsAllowed",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods",
  ] as const;
  return [
    ...validateConditions(status.conditions ?? [], path.child("conditions")),
    ...counts.flatMap((field) => validateNonNegative(status[field], path.child(field))),
  ];
}
