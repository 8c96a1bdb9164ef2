/**
 * authorization.k8s.io/v1 access reviews. They are answered at once and never
 * stored; the answer itself is the server's.
 */

import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  LocalSubjectAccessReview,
  ResourceAttributes,
  SelfSubjectAccessReview,
  SelfSubjectAccessReviewSpec,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
} from "#api/generated/authorization.v1.ts";
import type { FieldSelectorRequirement, ObjectMeta } from "#api/generated/meta.v1.ts";
import { defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { validateLabelSelectorRequirement } from "#api/validation/labels.ts";
import { Path } from "#api/validation/path.ts";

const REVIEW = {
  group: "authorization.k8s.io",
  version: "v1",
  verbs: ["create"],
  nameRule: () => [],
  transient: true,
  columns: [],
} as const;

export const subjectAccessReviewKind = defineKind<SubjectAccessReview>({
  ...REVIEW,
  names: { kind: "SubjectAccessReview", plural: "subjectaccessreviews" },
  scope: "Cluster",
  schema: builtInSchema("authorization.v1.SubjectAccessReview"),
  validate: ({ metadata, spec }) => [
    ...validateSubjectSpec(spec),
    ...validateEmptyMetadata(metadata, [], "must be empty"),
  ],
});

export const selfSubjectAccessReviewKind = defineKind<SelfSubjectAccessReview>({
  ...REVIEW,
  names: { kind: "SelfSubjectAccessReview", plural: "selfsubjectaccessreviews" },
  scope: "Cluster",
  schema: builtInSchema("authorization.v1.SelfSubjectAccessReview"),
  validate: ({ metadata, spec }) => [
    ...validateTarget(spec),
    ...validateAttributes(spec.resourceAttributes),
    ...validateEmptyMetadata(metadata, [], "must be empty"),
  ],
});

export const localSubjectAccessReviewKind = defineKind<LocalSubjectAccessReview>({
  ...REVIEW,
  names: { kind: "LocalSubjectAccessReview", plural: "localsubjectaccessreviews" },
  scope: "Namespaced",
  schema: builtInSchema("authorization.v1.LocalSubjectAccessReview"),
  validate: validateLocalReview,
});

/** Without a namespace in its spec the server answers Bad Request, not a broken field. */
export const selfSubjectRulesReviewKind = defineKind<SelfSubjectRulesReview>({
  ...REVIEW,
  names: { kind: "SelfSubjectRulesReview", plural: "selfsubjectrulesreviews" },
  scope: "Cluster",
  schema: builtInSchema("authorization.v1.SelfSubjectRulesReview"),
});

function validateLocalReview({ metadata, spec }: LocalSubjectAccessReview): FieldError[] {
  const errors = [
    ...validateSubjectSpec(spec),
    ...validateEmptyMetadata(metadata, ["namespace"], "must be empty except for namespace"),
  ];
  const { resourceAttributes, nonResourceAttributes } = spec;
  const namespace = resourceAttributes?.namespace ?? "";
  if (resourceAttributes !== undefined && namespace !== (metadata.namespace ?? "")) {
    const at = Path.of("spec.resourceAttributes.namespace");
    errors.push(invalid(at, namespace, "must match metadata.namespace"));
  }
  if (nonResourceAttributes !== undefined) {
    const at = Path.of("spec.nonResourceAttributes");
    const value = internalForm("authorization.v1.NonResourceAttributes", nonResourceAttributes);
    errors.push(invalid(at, value, "disallowed on this kind of request"));
  }
  return errors;
}

function validateSubjectSpec(spec: SubjectAccessReviewSpec): FieldError[] {
  const errors = validateTarget(spec);
  const { user = "", groups = [] } = spec;
  if (user === "" && groups.length === 0) {
    const detail = "at least one of user or group must be specified";
    errors.push(invalid(Path.of("spec", "user"), user, detail));
  }
  return [...errors, ...validateAttributes(spec.resourceAttributes)];
}

function validateTarget(spec: SelfSubjectAccessReviewSpec): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const value = internalForm("*authorization.v1.NonResourceAttributes", nonResourceAttributes);
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = "cannot be specified in combination with resourceAttributes";
    return [invalid(Path.of("spec", "nonResourceAttributes"), value, detail)];
  }
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    return [invalid(Path.of("spec", "resourceAttributes"), value, detail)];
  }
  return [];
}

function validateEmptyMetadata(
  metadata: ObjectMeta,
  allowed: readonly string[],
  detail: string,
): FieldError[] {
  const extra = Object.keys(metadata).filter(
    (field) => field !== "managedFields" && !allowed.includes(field),
  );
  if (extra.length === 0) return [];
  // The namespace may have come from the path, after the rest; it is shown in its own place.
  const { name, generateName, namespace, ...rest } = metadata;
  return [invalid(Path.of("metadata"), { name, generateName, namespace, ...rest }, detail)];
}

function validateAttributes(attributes: ResourceAttributes | undefined): FieldError[] {
  const { fieldSelector, labelSelector } = attributes ?? {};
  const path = Path.of("spec.resourceAttributes");
  const fieldPath = path.child("fieldSelector");
  const labelPath = path.child("labelSelector");
  return [
    ...validateSelector(fieldSelector, fieldPath),
    ...(fieldSelector?.requirements ?? []).flatMap((requirement, i) =>
      validateFieldRequirement(requirement, fieldPath.child("requirements").index(i)),
    ),
    ...validateSelector(labelSelector, labelPath),
    ...(labelSelector?.requirements ?? []).flatMap((requirement, i) =>
      validateLabelSelectorRequirement(
        requirement,
        { allowUnknownOperator: true },
        labelPath.child("requirements").index(i),
      ),
    ),
  ];
}

function validateSelector(
  selector: FieldSelectorAttributes | LabelSelectorAttributes | undefined,
  path: Path,
): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = "", requirements = [] } = selector;
  if (rawSelector !== "" && requirements.length > 0) {
    const detail = "may not specified at the same time as requirements";
    return [invalid(path.child("rawSelector"), rawSelector, detail)];
  }
  if (rawSelector === "" && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`;
    return [required(path.child("requirements"), detail)];
  }
  return [];
}

function validateFieldRequirement(requirement: FieldSelectorRequirement, path: Path): FieldError[] {
  const { key, operator, values = [] } = requirement;
  const errors: FieldError[] = [];
  if (key === "") errors.push(required(path.child("key"), "must be specified"));
  const at = path.child("values");
  if ((operator === "In" || operator === "NotIn") && values.length === 0) {
    errors.push(required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    errors.push(
      forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
    );
  }
  return errors;
}
