/** What makes an access review malformed. */
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  SelfSubjectAccessReviewSpec,
  SubjectAccessReviewSpec,
} from "#api/generated/authorization.v1.ts";
import type { LabelSelectorRequirement, ObjectMeta } from "#api/generated/meta.v1.ts";
import { type FieldError, forbidden, invalid, required } from "#api/validation/field-error.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { isLabelValue, isQualifiedName } from "#api/validation/names.ts";
import { Path } from "#api/validation/path.ts";

const SPEC = Path.of("spec");

export function validateReviewMeta(
  meta: ObjectMeta,
  allowed: readonly string[],
  detail: string,
): FieldError[] {
  const { managedFields: _managed, ...rest } = meta;
  const given = Object.keys(rest).filter((name) => !allowed.includes(name));
  return given.length === 0 ? [] : [invalid(Path.of("metadata"), meta, detail)];
}

/** Exactly one of the two kinds of question, with readable selectors. */
export function validateQuestion(spec: SelfSubjectAccessReviewSpec): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: url } = spec;
  if (resource !== undefined && url !== undefined) {
    const detail = "cannot be specified in combination with resourceAttributes";
    return [urlFault(url, detail), ...validateSelectors(spec)];
  }
  const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
  return resource === undefined && url === undefined
    ? [invalid(SPEC.child("resourceAttributes"), null, detail)]
    : validateSelectors(spec);
}

export function validateSubjectQuestion(spec: SubjectAccessReviewSpec): FieldError[] {
  const unsaid = !spec.user && !spec.groups?.length;
  const detail = "at least one of user or group must be specified";
  const subject = unsaid ? [invalid(SPEC.child("user"), spec.user ?? "", detail)] : [];
  const [first, ...rest] = validateQuestion(spec);
  // The subject stands between the question's form and its selectors.
  return first?.field.startsWith("spec.resourceAttributes.")
    ? [...subject, first, ...rest]
    : [...(first ? [first] : []), ...subject, ...rest];
}

export function validateLocal(spec: SubjectAccessReviewSpec, namespace: string): FieldError[] {
  const asked = spec.resourceAttributes?.namespace ?? "";
  const path = SPEC.child("resourceAttributes", "namespace");
  return [
    ...(spec.resourceAttributes !== undefined && asked !== namespace
      ? [invalid(path, asked, "must match metadata.namespace")]
      : []),
    ...(spec.nonResourceAttributes !== undefined
      ? [urlFault(spec.nonResourceAttributes, "disallowed on this kind of request")]
      : []),
  ];
}

function urlFault(url: unknown, detail: string): FieldError {
  const form = internalForm("authorization.v1.NonResourceAttributes", url);
  return invalid(SPEC.child("nonResourceAttributes"), form, detail);
}

function validateSelectors({ resourceAttributes }: SelfSubjectAccessReviewSpec): FieldError[] {
  const path = SPEC.child("resourceAttributes");
  const { fieldSelector, labelSelector } = resourceAttributes ?? {};
  return [
    ...validateSelector(fieldSelector, path.child("fieldSelector"), false),
    ...validateSelector(labelSelector, path.child("labelSelector"), true),
  ];
}

function validateSelector(
  selector: FieldSelectorAttributes | LabelSelectorAttributes | undefined,
  path: Path,
  ofLabels: boolean,
): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = "", requirements = [] } = selector;
  const faults: FieldError[] = [];
  if (rawSelector !== "" && requirements.length > 0) {
    const detail = "may not specified at the same time as requirements";
    faults.push(invalid(path.child("rawSelector"), rawSelector, detail));
  }
  if (rawSelector === "" && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`;
    faults.push(required(path.child("requirements"), detail));
  }
  for (const [index, requirement] of requirements.entries()) {
    faults.push(
      ...validateRequirement(requirement, path.child("requirements").index(index), ofLabels),
    );
  }
  return faults;
}

/** Operators that this server does not know are let through: newer clients may use them. */
function validateRequirement(
  { key, operator, values = [] }: LabelSelectorRequirement,
  path: Path,
  ofLabels: boolean,
): FieldError[] {
  const faults: FieldError[] = [];
  if (!ofLabels && key === "") faults.push(required(path.child("key"), "must be specified"));
  if ((operator === "In" || operator === "NotIn") && values.length === 0) {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'";
    faults.push(required(path.child("values"), detail));
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0) {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    faults.push(forbidden(path.child("values"), detail));
  }
  if (!ofLabels) return faults;
  faults.push(...isQualifiedName(key).map((fault) => invalid(path.child("key"), key, fault)));
  for (const [index, value] of values.entries()) {
    const at = path.child("values").index(index);
    faults.push(...isLabelValue(value).map((fault) => invalid(at, value, fault)));
  }
  return faults;
}
